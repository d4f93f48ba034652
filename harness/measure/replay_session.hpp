// Replays in turn with plain steps: rounds of all of a model's tasks, a step before and after each.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"
#include "harness/profile/projection.hpp"
#include "harness/workload/replayer.hpp"

namespace harness {

struct ReplayRecord {
  std::vector<ProjectionRound> rounds{};
  std::string library{};             ///< what the primitives ran with
  std::vector<std::string> notes{};  ///< what could not be replayed, or ran as another kernel
  std::vector<Peak> peaks{};         ///< a burst before each round
};

struct ReplayOptions {
  std::int64_t rounds = 5;
  bool measure = true;  ///< plain steps between the rounds
};

/// Of the memory that replays take on this machine, now.
ReplaySizes replay_sizes();

/// Throws Error where nothing can be replayed, and Interrupted before the first whole round; later
/// it returns with the rounds there are.
ReplayRecord replay(RunPlan& plan, const StepModel& model, const ReplayOptions& options);

}  // namespace harness
