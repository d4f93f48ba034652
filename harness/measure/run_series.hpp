// The runs of a series, one after the other: what is measured, what was measured before, and what
// can be gone on with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/measure/measure.hpp"
#include "harness/measure/series_state.hpp"
#include "harness/plan/plan.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Puts a result into FILE.json, whose samples are in FILE.jsonl, and before people; returns the
/// exit code that it stands for.
using Deliver = std::function<ExitCode(const Result&, const std::filesystem::path& file)>;

/// What an earlier process left of the task's run to go on from, if the plan's runs can be.
std::optional<SavedRun> saved_run_of(const RunPlan& plan, const MeasureTask& task);

/// Measures one run into `task.out`, from its saved state on where it has one. Fills the rest of
/// `task` but its position, command line and campaign.
ExitCode run_once(RunPlan& plan, MeasureTask task, const Deliver& deliver);

struct SeriesSteps {
  /// Measures the run of that index, from 1 on.
  std::function<ExitCode(std::int64_t index)> measure{};
  /// Says what there is of the series, when its runs have ended (`complete`) or one was stopped.
  std::function<void(bool complete)> show{};
  double pause_seconds = 0;  ///< to cool down between two runs
  bool strict = false;       ///< a mistrusted run counts as invalid
};

/// The series in `out` from its first run without a result on. A run counts as done when its result
/// says so: whatever was killed in between cannot make it count twice. Returns the code of the
/// first run that was not kOk.
ExitCode run_series(SeriesState& state, const RunPlan& plan, const std::filesystem::path& out,
                    const SeriesSteps& steps);

}  // namespace harness
