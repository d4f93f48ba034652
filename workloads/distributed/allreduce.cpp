// Sums over the ranks of a run by themselves: what a network gives, for `harness project
// --network`.
#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/registry.hpp"
#include "workloads/distributed/torch_ranks.hpp"
#include "workloads/torch/torch_workload.hpp"

namespace harness::workloads {
namespace {

// From a word to more than the largest gradient of a RetinaNet.
constexpr const char* kDefaultSizes = "1024,16384,131072,1048576,4194304,8388608,33554432";
constexpr std::int64_t kLargest = std::int64_t{1} << 32;

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::set<std::int64_t> seen;
  for (const std::string& name : split(text, ',')) {
    const auto value = parse_integer(name);
    if (!value || *value < 4 || *value > kLargest || *value % 4 != 0) {
      throw Error("--set sizes: '" + printable(name) + "'",
                  "not bytes, a multiple of 4 up to 4294967296",
                  "for example --set sizes=1024,8388608");
    }
    if (!seen.insert(*value).second) throw Error("--set sizes: " + name, "named twice");
    sizes.push_back(*value);
  }
  return sizes;
}

/// Quality: the largest error of a sum of whole numbers, which has none.
class Allreduce : public TorchWorkload, public Steps {
 public:
  Description describe(const WorkloadContext& context) const override {
    double bytes = 0;
    for (const std::int64_t size : parse_sizes(context.settings.at("sizes"))) {
      bytes += static_cast<double>(size);
    }
    return {2 * bytes};  // gloo has memory of its own for what comes in
  }

  StepStats step() override {
    for (Sum& sum : sums_) {
      sum.values.fill_(1.0 + context().rank());
      ranks_->gather("");  // all begin together
      const Phase phase = context().phase(sum.name.c_str());
      ranks_->start_sum(sum.values, sum_precision(context()), nullptr)->wait();
    }
    return {context().global_batch_size(), {}};
  }

  Quality evaluate() override {
    const double world = context().world();
    double largest = 0;
    for (const Sum& sum : sums_) {
      const at::Tensor error = (sum.values - world * (world + 1) / 2).abs().max();
      largest = std::max(largest, error.item<double>());
    }
    return {.metric = "sum-error", .direction = Direction::kLower, .value = largest};
  }

 private:
  struct Sum {
    std::string name{};
    at::Tensor values{};
  };

  void build() override {
    ranks_ = torch_ranks(context().ranks);
    if (ranks_ == nullptr) {
      throw Error("workload 'allreduce'", "is of several ranks", "--ranks 2, or more");
    }
    for (const std::int64_t size : parse_sizes(context().settings.at("sizes"))) {
      sums_.push_back({std::to_string(size), at::ones({size / 4}, at::kFloat)});
    }
  }
  WorkloadFacts facts_of_model() const override {
    WorkloadFacts facts{.cost = Cost{.precision = "fp32"}};
    for (const Sum& sum : sums_) {
      const auto bytes = static_cast<double>(sum.values.nbytes());
      facts.cost->phase_bytes[sum.name] = bytes;
      facts.cost->step_bytes += bytes;
    }
    return facts;
  }

  TorchRanks* ranks_ = nullptr;
  std::vector<Sum> sums_{};
};

WorkloadInfo info() {
  return {.name = "allreduce",
          .summary = "Sums over the ranks of a run, by size: what their network gives.",
          .offers = {{"precision", {"fp32"}}, {"allocator", {"system"}}},
          .settings = {{"sizes", kDefaultSizes, "bytes of each sum, separated by commas", {}}},
          .shares_steps = true};
}

const RegisterWorkload registered(info, [] { return std::make_unique<Allreduce>(); });

}  // namespace
}  // namespace harness::workloads
