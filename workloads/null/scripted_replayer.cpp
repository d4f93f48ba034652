#include "workloads/null/scripted_replayer.hpp"

#include <string>

#include "harness/base/error.hpp"
#include "harness/workload/capabilities.hpp"
#include "workloads/null/script.hpp"

namespace harness::workloads {
namespace {

class Sleep final : public PreparedPrimitive {
 public:
  explicit Sleep(double ms) : ms_(ms) {}
  void chill() override {}
  void run() override { sleep_for(ms_); }
  std::string implementation() const override { return "null"; }

 private:
  double ms_;
};

class ScriptedReplayer final : public Replayer {
 public:
  ScriptedReplayer(double ms, double bf16_speedup) : ms_(ms), bf16_speedup_(bf16_speedup) {}
  std::unique_ptr<PreparedPrimitive> prepare(const Primitive& primitive,
                                             const std::string& /*library*/) override {
    if (primitive.kind != "reorder") throw Error("null", "has no " + primitive.kind);
    const bool bf16 = !primitive.tensors.empty() && primitive.tensors.back().type == "bf16";
    return std::make_unique<Sleep>(bf16 ? ms_ / bf16_speedup_ : ms_);
  }
  std::string library() const override { return "null"; }

 private:
  double ms_;
  double bf16_speedup_;
};

}  // namespace

std::unique_ptr<Replayer> make_scripted_replayer(const WorkloadContext& context) {
  if (context.settings.at("recordable") == "no") {
    throw Error("workload 'null'", Replayable::kLack.why, Replayable::kLack.hint);
  }
  WorkloadContext in_fp32 = context;
  in_fp32.precision = "fp32";
  return std::make_unique<ScriptedReplayer>(read_script(in_fp32).step_ms.front(),
                                            number_of(context, "bf16-speedup"));
}

}  // namespace harness::workloads
