// A workload of one's own, outside of the source tree: two sums a step.
#include <numeric>
#include <vector>

#include "harness/commands/command.hpp"
#include "harness/workload/capabilities.hpp"
#include "harness/workload/registry.hpp"

namespace {

using namespace harness;  // NOLINT(google-build-using-namespace)

class Twice : public Workload, public Steps {
 public:
  Description describe(const WorkloadContext&) const override { return {8e6}; }
  void prepare(const WorkloadContext& context) override {
    context_ = &context;
    values_.assign(100'000, 1.0);
  }
  StepStats step() override {
    const Phase phase = context_->phase("sums");
    for (double& sum : sums_) sum = std::accumulate(values_.begin(), values_.end(), 0.0);
    return {1, {}};
  }
  Quality evaluate() override {
    Quality quality;
    quality.metric = "equal-sums";
    quality.direction = Direction::kHigher;
    quality.value = sums_[0] == sums_[1] ? 1.0 : 0.0;
    return quality;
  }

 private:
  const WorkloadContext* context_ = nullptr;
  std::vector<double> values_{};
  double sums_[2] = {0, 1};
};

WorkloadInfo info() {
  WorkloadInfo info;
  info.name = "twice";
  info.summary = "The same sum twice.";
  info.offers = {{"precision", {"fp32"}}, {"allocator", {"system"}}};
  return info;
}

const RegisterWorkload registered(info, [] { return std::make_unique<Twice>(); });

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv); }
