// Whether what lies in a folder can be gone on with, and what to say where it cannot.
#pragma once

#include <cstdint>
#include <filesystem>
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

}  // namespace harness
