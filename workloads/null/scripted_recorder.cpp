#include "workloads/null/scripted_recorder.hpp"

#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "harness/base/error.hpp"

namespace harness::workloads {
namespace {

class ScriptedRecorder final : public StepRecorder {
 public:
  explicit ScriptedRecorder(bool bf16) : type_(bf16 ? "bf16" : "f32") {}

  void begin_step() override { step_ = open(ScopeKind::kStep, "step", -1); }
  void end_step() override { close(step_); }
  void phase_begin(const char* name) override {
    phase_ = open(ScopeKind::kPhase, name, step_);
    operator_ = open(ScopeKind::kOperator, "null::sleep", phase_);
  }
  void phase_end(const char* /*name*/) override {
    const RecordedScope& slept = recording_.scopes[static_cast<std::size_t>(operator_)];
    const double ms = static_cast<double>(now() - slept.begin_ns) * 1e-6;
    recording_.log += "onednn_verbose,exec,cpu,reorder,null,undef,src_f32::blocked:a::f0 dst_" +
                      type_ + "::blocked:a::f0,,,1000," + std::to_string(ms) + "\n";
    close(operator_);
    close(phase_);
  }
  Recording take() override { return std::move(recording_); }

 private:
  static std::int64_t now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }
  std::int64_t open(ScopeKind kind, const std::string& name, std::int64_t parent) {
    const auto index = std::ssize(recording_.scopes);
    recording_.log += "#scope+ " + std::to_string(index) + "\n";
    RecordedScope scope;
    scope.kind = kind;
    scope.name = name;
    scope.parent = parent;
    scope.begin_ns = scope.end_ns = now();
    recording_.scopes.push_back(std::move(scope));
    return index;
  }
  void close(std::int64_t index) {
    recording_.scopes[static_cast<std::size_t>(index)].end_ns = now();
    recording_.log += "#scope- " + std::to_string(index) + "\n";
  }

  std::string type_;
  Recording recording_{};
  std::int64_t step_ = -1, phase_ = -1, operator_ = -1;
};

}  // namespace

std::unique_ptr<StepRecorder> make_scripted_recorder(const WorkloadContext& context) {
  if (context.settings.at("recordable") == "no") {
    throw Error("workload 'null'", Recordable::kLack.why, Recordable::kLack.hint);
  }
  return std::make_unique<ScriptedRecorder>(context.precision == "bf16");
}

}  // namespace harness::workloads
