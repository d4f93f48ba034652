// The result of one run, as one struct. JSON form: results/schema/run.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"

namespace harness {

inline constexpr const char* kResultSchemaVersion = "1.0.0";

struct CostReport {
  Cost cost{};
  std::optional<double> achieved_flops_per_second{};  ///< step FLOPs over the median step
  std::optional<double> utilisation{};  ///< of the measured peak of `cost.precision`, 0..1
  std::string reason{};                 ///< why `utilisation` is missing
};

struct Result : ResultCommon {
  KernelSet kernels{};
  std::vector<Peak> peaks{};
  std::vector<Metric> metrics{};
  Memory memory{};
  std::optional<CostReport> cost{};
  std::optional<QualityReport> quality{};
};

}  // namespace harness
