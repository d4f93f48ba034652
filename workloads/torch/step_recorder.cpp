#include "workloads/torch/step_recorder.hpp"

#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::workloads {
namespace {

ScopeKind kind_of(kernels::ScopeKind kind) {
  switch (kind) {
    case kernels::ScopeKind::kStep:
      return ScopeKind::kStep;
    case kernels::ScopeKind::kPhase:
      return ScopeKind::kPhase;
    case kernels::ScopeKind::kModule:
      return ScopeKind::kModule;
    case kernels::ScopeKind::kOperator:
      return ScopeKind::kOperator;
    case kernels::ScopeKind::kKernel:
      return ScopeKind::kKernel;
  }
  throw std::logic_error("a scope of no kind");
}

RecordedScope recorded(kernels::Scope& scope) {
  RecordedScope result;
  result.kind = kind_of(scope.kind);
  result.name = std::move(scope.name);
  result.parent = scope.parent;
  result.begin_ns = scope.begin_ns;
  result.end_ns = scope.end_ns;
  result.backward = scope.backward;
  result.sequence = scope.sequence;
  result.shapes = std::move(scope.shapes);
  result.bytes = scope.bytes;
  result.page_faults = scope.page_faults;
  result.system = SystemWork{scope.thread_page_faults, scope.thread_system_ns};
  if (scope.flops > 0) result.kernel_flops = scope.flops;
  if (!scope.facts) return result;
  const kernels::KernelFacts& facts = *scope.facts;
  Primitive primitive;
  primitive.kind = facts.kind;
  primitive.implementation = facts.implementation;
  primitive.direction = facts.direction;
  primitive.tensors = {{"src", facts.type, "", false}};
  primitive.problem = facts.problem;
  result.kernel = std::move(primitive);
  result.kernel_flops = facts.flops;
  return result;
}

template <class Work>
void told(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    throw Error("profile", error.what(), "is there room for temporary files?");
  }
}

class TorchStepRecorder final : public StepRecorder {
 public:
  void begin_step() override {
    told([&] { profiler_.resume(); });
    profiler_.enter(kernels::ScopeKind::kStep, "step");
  }

  void end_step() override {
    profiler_.leave();
    told([&] { profiler_.suspend(); });
  }

  void phase_begin(const char* name) override { profiler_.enter(kernels::ScopeKind::kPhase, name); }
  void phase_end(const char* /*name*/) override { profiler_.leave(); }

  Recording take() override {
    kernels::Trace trace = profiler_.take();
    Recording recording;
    for (kernels::Scope& scope : trace.scopes) recording.scopes.push_back(recorded(scope));
    for (const kernels::Allocation& allocation : trace.allocations) {
      recording.allocations.push_back(
          {allocation.at_ns, allocation.bytes, allocation.in_use_bytes, allocation.scope});
    }
    recording.log = std::move(trace.log);
    recording.other_threads = std::move(trace.other_threads);
    return recording;
  }

 private:
  kernels::Profiler profiler_{};
};

}  // namespace

std::unique_ptr<StepRecorder> make_step_recorder() {
  std::unique_ptr<StepRecorder> recorder;
  told([&] { recorder = std::make_unique<TorchStepRecorder>(); });
  return recorder;
}

}  // namespace harness::workloads
