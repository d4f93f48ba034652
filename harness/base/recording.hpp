// What a workload that is looked into hands over: primitives, scopes (operators, kernels, modules,
// phases) as they were entered and left, the log they and oneDNN wrote in between, memory taken and
// given back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace harness {

/// A tensor as oneDNN describes it.
struct TensorLayout {
  std::string name{};    ///< src, wei, bia, dst
  std::string type{};    ///< f32, bf16, undef
  std::string layout{};  ///< acdb, ABcd16b16a; empty where there is none
  /// Left to oneDNN to choose ("any"); `layout` is what it chose.
  bool chosen_by_library = false;

  bool operator==(const TensorLayout&) const = default;
};

/// One execution of a primitive: of oneDNN, as its verbose output tells, or of a kernel of our own.
struct Primitive {
  std::string kind{};            ///< convolution, reorder, ...
  std::string implementation{};  ///< jit:avx512_core
  std::string direction{};       ///< forward_training, backward_data; "undef" for a reorder
  std::vector<TensorLayout> tensors{};
  std::string attributes{};
  std::string auxiliary{};  ///< alg:convolution_direct
  std::string problem{};    ///< in benchdnn's syntax
  double milliseconds = 0;

  bool operator==(const Primitive&) const = default;
};

enum class ScopeKind {
  kStep,      ///< a whole training step
  kPhase,     ///< of the step: data, forward, loss, backward, optimizer
  kModule,    ///< of the model, by the name of its parameters: backbone.body.layer1.0.conv1
  kOperator,  ///< of LibTorch, or a node of its autograd graph
  kKernel,    ///< of ours, inside an operator
};

/// What the thread that runs the steps left to the operating system.
struct SystemWork {
  std::int64_t page_faults = 0;  ///< that needed no disk
  /// Told apart from the program's own time by a clock that ticks every few milliseconds: right for
  /// what takes many ticks, in one call or in a hundred.
  std::int64_t nanoseconds = 0;
};

/// Times are nanoseconds since the epoch, by a clock that is not set while it runs.
struct RecordedScope {
  ScopeKind kind = ScopeKind::kOperator;
  std::string name{};
  std::int64_t parent = -1;  ///< index of the scope around it; -1: none
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool backward = false;  ///< a node of the autograd graph that runs backwards
  /// Number of the autograd node that a forward operator made or that a backward one is: what links
  /// them. -1: none.
  std::int64_t sequence = -1;
  std::string shapes{};                  ///< of the inputs, "f32[1,256,100,100] f32[256]"
  double bytes = 0;                      ///< of inputs and outputs, each tensor once
  std::int64_t page_faults = 0;          ///< of the process while it was open, that needed no disk
  std::optional<SystemWork> system{};    ///< while it was open; empty: not counted
  std::optional<Primitive> kernel{};     ///< of kKernel: what it is, but for the time
  std::optional<double> kernel_flops{};  ///< of what leaves no primitive of oneDNN's to count
};

struct RecordedAllocation {
  std::int64_t at_ns = 0;
  std::int64_t bytes = 0;         ///< below 0: given back
  std::int64_t in_use_bytes = 0;  ///< after it, in the whole process
  std::int64_t scope = -1;        ///< the innermost one that was open; -1: none
};

struct Recording {
  /// Of the thread that runs the steps, by their begin: a scope stands behind the one around it.
  std::vector<RecordedScope> scopes{};
  std::vector<RecordedAllocation> allocations{};
  /// Lines of oneDNN's verbose output (of any number of its copies), between lines `#scope+ INDEX`
  /// and `#scope- INDEX`, and whatever else was printed meanwhile.
  std::string log{};
  /// What the processor counted in all steps together, by name.
  std::map<std::string, double> counters{};
  std::string counters_reason{};  ///< why nothing was counted
  /// Seconds of operators that other threads ran meanwhile (decoding ahead), by name.
  std::map<std::string, double> other_threads{};
};

}  // namespace harness
