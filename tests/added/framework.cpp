// A workload on another framework, which is a stub: it adds numbers and says who it is.
#include <chrono>
#include <thread>

#include "harness/workload/capabilities.hpp"
#include "harness/workload/registry.hpp"

namespace {

using namespace harness;  // NOLINT(google-build-using-namespace)

class StubTraining : public Workload, public Steps {
 public:
  Description describe(const WorkloadContext& /*context*/) const override { return {1e6}; }
  void prepare(const WorkloadContext& context) override { context_ = &context; }
  WorkloadFacts facts() const override {
    WorkloadFacts facts;
    facts.software = {{"stub", "2.1"}, {"stub_mode", context_->chosen.at("graph_mode")}};
    return facts;
  }
  StepStats step() override {
    const Phase phase = context_->phase("forward");
    const bool compiled = context_->chosen.at("graph_mode") == "compiled";
    std::this_thread::sleep_for(std::chrono::microseconds(compiled ? 500 : 1000));
    loss_ *= 0.99;
    return {context_->batch_size, {{"total", loss_}}};
  }
  Quality evaluate() override {
    Quality quality;
    quality.metric = "loss";
    quality.direction = Direction::kLower;
    quality.value = loss_;
    return quality;
  }

 private:
  const WorkloadContext* context_ = nullptr;
  double loss_ = 1;
};

WorkloadInfo info() {
  return {.name = "stub-train",
          .summary = "A framework's stub.",
          .offers = {{"precision", {"fp32"}}, {"allocator", {"system"}}}};
}

const RegisterWorkload registered(info, [] { return std::make_unique<StubTraining>(); });

}  // namespace
