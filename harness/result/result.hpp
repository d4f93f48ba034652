// The result of one run, as one struct. JSON form: results/schema/run.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/loadgen_report.hpp"
#include "harness/result/result_common.hpp"
#include "harness/result/world_report.hpp"

namespace harness {

inline constexpr const char* kResultSchemaVersion = "1.14.0";

/// Where a run went on after it had been stopped or killed.
struct Resumption {
  std::int64_t epoch = 1;  ///< 1-based, in which it went on
  std::int64_t steps = 0;  ///< since the start of the run, already done then
  std::string at{};        ///< UTC
  /// That had trained until then, where others went on; 0: the same.
  std::int64_t ranks = 0;
};

/// How training to a quality target went.
struct TrainingReport {
  std::int64_t epochs = 0;  ///< trained and evaluated
  std::int64_t max_epochs = 0;
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double seconds = 0;  ///< on the clock
  bool target_reached = false;
  std::vector<Resumption> resumed{};
};

struct Result : ResultCommon {
  KernelSet kernels{};
  std::vector<KernelChoice> choices{};      ///< within them, of what ran; from 1.9.0 on
  std::vector<GradientBucket> gradients{};  ///< of profiles; from 1.14.0 on
  std::vector<Peak> peaks{};
  std::vector<Metric> metrics{};
  Memory memory{};
  std::optional<CostReport> cost{};
  std::optional<QualityReport> quality{};
  std::optional<TrainingReport> training{};  ///< empty for runs of a number of steps
  std::optional<LoadGenReport> loadgen{};    ///< of the scenarios of inference; from 1.10.0 on
  std::optional<WorldReport> world{};        ///< of several ranks; from 1.13.0 on
};

}  // namespace harness
