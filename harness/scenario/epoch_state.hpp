// Where a run that trains to a quality target stands between two steps. With the workload's own
// state it is all that a resumed run needs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/base/types.hpp"
#include "harness/scenario/observer.hpp"

namespace harness {

/// Sums over the steps of one epoch.
struct EpochTotals {
  std::int64_t steps = 0;
  double seconds = 0;  ///< on the clock since the epoch began
  StepRecord sum{};    ///< seconds, samples, phases, stages and losses of the steps, added up

  void add(const StepRecord& step);
  /// The mean step; its number is that of the epoch. `steps` is above 0.
  StepRecord mean(std::int64_t epoch) const;
};

struct EpochState {
  std::int64_t epoch = 1;  ///< being trained, 1-based
  EpochTotals totals{};    ///< of that epoch so far
  std::int64_t steps = 0;  ///< since the start of the run
  std::int64_t samples = 0;
  double seconds = 0;                ///< on the clock so far, without what a killed run lost
  std::vector<Metric> metrics{};     ///< of the epochs before; not summarised
  std::optional<Quality> quality{};  ///< of the last evaluation
  std::vector<Resumption> resumed{};
};

nlohmann::json to_json(const EpochState& state);
/// Throws nlohmann::json::exception where something is missing or of another type,
/// std::out_of_range for numbers that cannot be.
EpochState epoch_state_from_json(const nlohmann::json& document);

}  // namespace harness
