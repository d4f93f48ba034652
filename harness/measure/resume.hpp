// Whether what lies in a folder can be gone on with, and what to say where it cannot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
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

/// The world in which a run goes on: the batch of all ranks stays what it was.
struct GoingOn {
  int ranks = 1;
  std::int64_t batch_size = 1;  ///< of each rank
  bool other_world = false;     ///< than the one that trained last
};

/// What goes on in `folder`, in a world of `ranks` if any are given; `begun` is the number that the
/// series was begun with, where its arguments say it. Empty: it goes on with its arguments as they
/// are. Throws Error where so many cannot go on with it.
std::optional<GoingOn> going_on_in(const std::filesystem::path& folder, const SeriesState& state,
                                   const std::string& workload, std::optional<int> ranks,
                                   int begun);

}  // namespace harness
