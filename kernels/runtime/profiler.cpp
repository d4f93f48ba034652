#include "kernels/runtime/profiler.hpp"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/native/verbose_wrapper.h>
#include <ATen/record_function.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/captured_output.hpp"
#include "kernels/runtime/operator_facts.hpp"

namespace harness::kernels {
namespace {

// Executions and creations: a primitive that is made anew within a step is worth a remark.
constexpr int kVerboseLevel = 2;
constexpr std::string_view kEngine = "autograd::engine::";

std::int64_t nanoseconds(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
}

rusage usage_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return usage;
}

// The thread's counts are taken within the process's: a fault of the one is never missed by the
// other.
void begin_counts(Scope& scope) {
  scope.page_faults = usage_of(RUSAGE_SELF).ru_minflt;
  const rusage thread = usage_of(RUSAGE_THREAD);
  scope.thread_page_faults = thread.ru_minflt;
  scope.thread_system_ns = nanoseconds(thread.ru_stime);
}

void end_counts(Scope& scope) {
  const rusage thread = usage_of(RUSAGE_THREAD);
  scope.thread_page_faults = thread.ru_minflt - scope.thread_page_faults;
  scope.thread_system_ns = nanoseconds(thread.ru_stime) - scope.thread_system_ns;
  scope.page_faults = usage_of(RUSAGE_SELF).ru_minflt - scope.page_faults;
}

}  // namespace

// What a thread that is recorded does stays on that thread; what others do takes the lock.
class Profiler::Recording {
 public:
  Recording() : started_(std::chrono::steady_clock::now()) {
    const auto epoch = std::chrono::system_clock::now().time_since_epoch();
    epoch_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(epoch).count();
    // Read by each copy of oneDNN at its first verbose line.
    setenv("ONEDNN_VERBOSE_TIMESTAMP", "1", 0);
  }

  ~Recording() { suspend(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void resume() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (current_ != nullptr) throw std::logic_error("another profiler records");
      output_.capture();
      current_ = this;
    }
    here_ = this;
    torch::verbose::_mkldnn_set_verbose(kVerboseLevel);
    dnnl::set_verbose(kVerboseLevel);
    on_allocation(&Recording::allocated);
    callback_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&Recording::entered, &Recording::left)
            .needsInputs(true)
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  }

  void suspend() {
    if (here_ != this) return;
    while (!open_.empty()) close();
    at::removeCallback(callback_);
    on_allocation(nullptr);
    torch::verbose::_mkldnn_set_verbose(0);
    dnnl::set_verbose(0);
    here_ = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      current_ = nullptr;
    }
    whole_ = output_.restore() && whole_;
  }

  bool whole() const { return whole_; }

  Trace take() {
    trace_.log = output_.text();
    return std::move(trace_);
  }

  void open(ScopeKind kind, std::string name) {
    Scope scope;
    scope.kind = kind;
    scope.name = std::move(name);
    push(std::move(scope));
  }

  /// `facts` may be empty.
  void open_kernel(const char* name, const std::function<KernelFacts()>& facts) {
    Scope scope;
    scope.kind = ScopeKind::kKernel;
    scope.name = name;
    // The node of the operator that the kernel works for is made behind it.
    if (at::GradMode::is_enabled()) {
      scope.sequence = static_cast<std::int64_t>(at::sequence_number::peek());
    }
    if (facts) scope.facts = facts();
    if (scope.facts) scope.bytes = scope.facts->bytes;
    push(std::move(scope));
  }

  void close() {
    if (open_.empty()) return;
    Scope& scope = trace_.scopes[static_cast<std::size_t>(open_.back())];
    end_counts(scope);
    scope.end_ns = now();
    std::fprintf(stdout, "#scope- %lld\n", static_cast<long long>(open_.back()));
    open_.pop_back();
  }

  static Recording* here() { return here_; }

 private:
  struct Context final : at::ObserverContext {
    std::int64_t index = -1;                        ///< of the scope; -1: of another thread
    std::chrono::steady_clock::time_point begin{};  ///< of another thread
  };

  std::int64_t now() const {
    const auto passed = std::chrono::steady_clock::now() - started_;
    return epoch_ns_ + std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count();
  }

  // Last of all the time, so that what recording takes falls to the scope around.
  std::int64_t push(Scope scope) {
    const auto index = static_cast<std::int64_t>(trace_.scopes.size());
    scope.parent = open_.empty() ? -1 : open_.back();
    std::fprintf(stdout, "#scope+ %lld\n", static_cast<long long>(index));
    open_.push_back(index);
    begin_counts(scope);
    scope.begin_ns = now();
    trace_.scopes.push_back(std::move(scope));
    return index;
  }

  static std::unique_ptr<at::ObserverContext> entered(const at::RecordFunction& function) {
    auto context = std::make_unique<Context>();
    Recording* const recording = here_;
    if (recording == nullptr) {
      context->begin = std::chrono::steady_clock::now();
      return context;
    }
    Scope scope;
    scope.name = function.name();
    scope.backward =
        function.scope() == at::RecordScope::BACKWARD_FUNCTION || scope.name.starts_with(kEngine);
    scope.sequence = function.seqNr();
    describe_inputs(function, scope);
    context->index = recording->push(std::move(scope));
    return context;
  }

  static void left(const at::RecordFunction& function, at::ObserverContext* observer) {
    const auto* context = static_cast<const Context*>(observer);
    Recording* const recording = here_;
    if (context == nullptr) return;  // what began it failed
    if (context->index < 0) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - context->begin;
      const std::lock_guard<std::mutex> lock(mutex_);
      if (current_ != nullptr) current_->trace_.other_threads[function.name()] += spent.count();
      return;
    }
    if (recording == nullptr) return;
    // What was thrown through is closed with the scope around it.
    while (!recording->open_.empty() && recording->open_.back() > context->index) {
      recording->close();
    }
    if (recording->open_.empty() || recording->open_.back() != context->index) return;
    recording->close();
    describe_outputs(function, recording->trace_.scopes[static_cast<std::size_t>(context->index)]);
  }

  static void allocated(std::int64_t bytes, std::int64_t in_use_bytes) {
    const std::int64_t scope = here_ == nullptr || here_->open_.empty() ? -1 : here_->open_.back();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (current_ == nullptr) return;
    current_->trace_.allocations.push_back({current_->now(), bytes, in_use_bytes, scope});
  }

  static inline std::mutex mutex_{};  ///< of current_, and of what other threads add to it
  static inline Recording* current_ = nullptr;
  static inline thread_local Recording* here_ = nullptr;  ///< the one that records this thread

  std::chrono::steady_clock::time_point started_;
  std::int64_t epoch_ns_ = 0;
  CapturedOutput output_{};
  bool whole_ = true;  ///< nothing of the log is lost
  at::CallbackHandle callback_{};
  Trace trace_{};
  std::vector<std::int64_t> open_{};
};

Profiler::Profiler() : recording_(std::make_unique<Recording>()) {}
Profiler::~Profiler() = default;

void Profiler::resume() { recording_->resume(); }

void Profiler::suspend() {
  recording_->suspend();
  if (!recording_->whole()) throw std::runtime_error("the log of oneDNN's lines is not whole");
}

Trace Profiler::take() {
  if (Recording::here() == recording_.get()) throw std::logic_error("suspend the profiler first");
  Trace trace = recording_->take();
  recording_ = std::make_unique<Recording>();
  return trace;
}

bool Profiler::records_here() { return Recording::here() != nullptr; }

void Profiler::enter(ScopeKind kind, const std::string& name) {
  if (Recording::here() == recording_.get()) recording_->open(kind, name);
}

void Profiler::leave() {
  if (Recording::here() == recording_.get()) recording_->close();
}

ModuleScope::ModuleScope(const std::string& name)
    : recorded_(Profiler::Recording::here() != nullptr) {
  if (recorded_) Profiler::Recording::here()->open(ScopeKind::kModule, name);
}

ModuleScope::~ModuleScope() {
  if (recorded_ && Profiler::Recording::here() != nullptr) Profiler::Recording::here()->close();
}

KernelScope::KernelScope(const char* name) : KernelScope(name, nullptr) {}

KernelScope::KernelScope(const char* name, const std::function<KernelFacts()>& facts)
    : recorded_(Profiler::Recording::here() != nullptr) {
  if (recorded_) Profiler::Recording::here()->open_kernel(name, facts);
}

KernelScope::~KernelScope() {
  if (recorded_ && Profiler::Recording::here() != nullptr) Profiler::Recording::here()->close();
}

}  // namespace harness::kernels
