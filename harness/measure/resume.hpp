// Whether what lies in a folder can be gone on with, and what to say where it cannot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/measure/series_state.hpp"
#include "harness/plan/plan.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Throws Error, saying what lies in `folder` instead, when there is no unfinished series.
void expect_unfinished_series(const std::filesystem::path& folder);

/// Throws Error when a run of the series that has its result was measured under other rules or on
/// another machine than `plan` is for.
void expect_same_series(const std::vector<Result>& done, const RunPlan& plan);

/// Looks at the files of a run that has no result yet: says on stderr what is measured anew, and
/// throws Error when that would be silent about something that is gone or damaged.
void expect_resumable(const std::filesystem::path& folder, const SeriesState& state,
                      const RunPlan& plan, std::int64_t run_index);

/// The world in which a series goes on: the batch of all ranks stays what it was.
struct GoingOn {
  int ranks = 1;
  std::int64_t batch_size = 1;  ///< of each rank
};

/// `plan` is the series as it was begun; `ranks`, if any were asked for, may be others than those
/// that trained last. Throws Error where they cannot go on with it.
GoingOn going_on_in(const std::filesystem::path& folder, const SeriesState& state,
                    const RunPlan& plan, std::optional<int> ranks);

}  // namespace harness
