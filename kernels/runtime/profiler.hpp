// What happens inside a step: LibTorch's operators, our kernels and the model's modules as nested
// scopes, oneDNN's own account of its primitives in between, memory taken and given back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace harness::kernels {

enum class ScopeKind { kStep, kPhase, kModule, kOperator, kKernel };

/// What a kernel of ours computes, by the names that oneDNN uses.
struct KernelFacts {
  std::string kind{};            ///< convolution, reorder, ...
  std::string implementation{};  ///< grouped:AVX2
  std::string direction{};       ///< forward_training, backward_data, backward_weights
  std::string type{};            ///< f32, bf16: of what it reads
  std::string problem{};         ///< in benchdnn's syntax
  double flops = 0;
  double bytes = 0;  ///< that have to move
};

/// Times are nanoseconds since the epoch, by a clock that nobody sets meanwhile.
struct Scope {
  ScopeKind kind = ScopeKind::kOperator;
  std::string name{};
  std::int64_t parent = -1;  ///< index of the scope around it
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool backward = false;                ///< a node of the autograd graph that runs backwards
  std::int64_t sequence = -1;           ///< number of the autograd node it makes or is; -1: none
  std::string shapes{};                 ///< of the inputs: "f32[1,256,100,100] f32[256]"
  double bytes = 0;                     ///< of inputs and outputs
  std::int64_t page_faults = 0;         ///< of the whole process while it was open, without disk
  std::int64_t thread_page_faults = 0;  ///< of these, the recorded thread's
  std::int64_t thread_system_ns = 0;    ///< that thread in the operating system, to a tick
  /// Of convolutions that LibTorch computes without oneDNN; 0 for the others.
  double flops = 0;
  std::optional<KernelFacts> facts{};
};

struct Allocation {
  std::int64_t at_ns = 0;
  std::int64_t bytes = 0;  ///< below 0: given back
  std::int64_t in_use_bytes = 0;
  std::int64_t scope = -1;  ///< the innermost open one; -1: none, or another thread took it
};

struct Trace {
  std::vector<Scope> scopes{};
  std::vector<Allocation> allocations{};
  /// Verbose lines of both copies of oneDNN, between `#scope+ INDEX` and `#scope- INDEX`.
  std::string log{};
  std::map<std::string, double> other_threads{};  ///< seconds of operators run there, by name
};

/// Records the thread that calls resume(), until suspend(); meanwhile standard output goes to the
/// log. Several stretches make one trace. Slows down what it records; how much has to be measured
/// beside.
class Profiler {
 public:
  Profiler();   ///< throws std::runtime_error where no temporary file can be made
  ~Profiler();  ///< suspends
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Throws std::runtime_error where standard output cannot be redirected, and std::logic_error
  /// when another one records: there is one at a time.
  void resume();
  /// By the same thread. Throws std::runtime_error when the disk could not take the log.
  void suspend();
  /// All that was recorded so far; the profiler begins anew. Precondition: suspended.
  Trace take();

  /// Whether one records the thread that calls.
  static bool records_here();

  /// Steps and phases; nest like blocks. Nothing happens while suspended.
  void enter(ScopeKind kind, const std::string& name);
  void leave();

 private:
  friend class ModuleScope;
  friend class KernelScope;
  class Recording;
  std::unique_ptr<Recording> recording_;
};

/// A part of a model, by the name of its parameters ("backbone.body.layer1.0.conv1"), for as long
/// as it lives. Free of cost when nobody records.
class ModuleScope {
 public:
  explicit ModuleScope(const std::string& name);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  bool recorded_;
};

/// A kernel of ours at work. `facts` is asked only when somebody records.
class KernelScope {
 public:
  explicit KernelScope(const char* name);
  KernelScope(const char* name, const std::function<KernelFacts()>& facts);
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  bool recorded_;
};

}  // namespace harness::kernels
