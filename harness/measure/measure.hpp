// One run from plan to result: the parts of harness/ wired together.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/identity.hpp"
#include "harness/measure/ranks/world_place.hpp"
#include "harness/measure/saved_run.hpp"
#include "harness/plan/plan.hpp"
#include "harness/result/result.hpp"
#include "harness/scenario/orders.hpp"

namespace harness {

struct MeasureTask {
  SeriesPosition position{};
  std::filesystem::path out{};
  std::string stem{};  ///< of the run's files in `out`
  std::vector<std::string> command_line{};
  std::optional<SavedRun> saved_run{};      ///< of this run, to go on from
  std::function<void()> state_saved{};      ///< called after the first saved state; may be empty
  std::optional<CampaignPlace> campaign{};  ///< that the run is a part of
  /// Not null: it says when to step and when the run is over.
  StepOrders* orders = nullptr;
  /// Not null: every other step is recorded, and quality is not evaluated; goes there.
  Recording* recording = nullptr;
  bool trace = false;                   ///< writes the spans of each step as `STEM.trace`
  std::optional<SetUpTrials> set_up{};  ///< that the plan's threads and batch size are by
  std::optional<WorldPlace> place{};    ///< this process leads ranks that others start
  std::optional<RankPlace> rank{};      ///< this process is one of several that share the run
  std::optional<Identity> identity{};   ///< of the run, where others share it
};

/// Throws Error when this machine has less memory than the workload needs by its own estimate. What
/// somebody's own model needs nobody knows before it runs: it gets what there is, and no more.
void refuse_if_too_large(const Workload& workload, const RunPlan& plan);

/// Measures and returns the result with its status; writes samples beside the result-to-be as
/// `STEM.jsonl` and, when training to a target, the log as `STEM.log`. Throws Error when nothing
/// could be measured.
Result measure(RunPlan& plan, const MeasureTask& task);

}  // namespace harness
