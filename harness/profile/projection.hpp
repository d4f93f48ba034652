// What a step of a profile would cost here and now. Each primitive is run again by itself. The rest
// is scaled by this machine's speed, now against then:
//
//   projected = sum over primitives of calls * replayed seconds
//             + (seconds outside of primitives - what recording cost) * slowdown
//
// The rest allocates, copies and streams, so on another machine it follows memory:
// slowdown = copy bandwidth there / copy bandwidth here. On the same machine the bandwidth is the
// same, but a process may get less of the machine (clock, neighbours). That slows all work alike:
// slowdown = replayed seconds of the recorded primitives / their recorded seconds.
//
// The method (profile, projection, optimisation) is that of arXiv 2206.10034. Its model of the time
// outside of primitives is not published; this one is ours.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/profile/tables.hpp"

namespace harness {

/// One distinct primitive, whichever operators it ran for.
struct ReplayTask {
  Primitive primitive{};  ///< to be run
  std::string library{};
  double calls = 0;             ///< a step
  double recorded_seconds = 0;  ///< of all calls of a step, as recorded
};

/// Work outside of primitives, by phase of the step; recording's own cost is taken off.
struct OtherTime {
  std::string phase{};
  double seconds = 0;  ///< a step
};

/// What is to be projected.
struct StepModel {
  std::vector<ReplayTask> tasks{};  ///< the longest first
  std::vector<OtherTime> others{};
  /// The recorded primitives if `tasks` are others (another precision); else empty.
  std::vector<ReplayTask> yardsticks{};
  double step_seconds = 0;  ///< of a plain step, as measured beside the recorded ones
};

/// `overhead`: how many times as long a recorded step takes as a plain one, at least 1.
StepModel model_step(const ProfileTables& tables, double overhead);

/// What one pass over all tasks gave.
struct ProjectionRound {
  /// Of one call, by task; empty for tasks that cannot be replayed here.
  std::vector<std::optional<double>> seconds{};
  std::vector<std::optional<double>> yardsticks{};  ///< the same of StepModel::yardsticks
  double copy_bandwidth = 0;                        ///< B/s, at that time; 0: not known
  std::optional<double> measured{};  ///< seconds of plain steps right before and after it
};

/// A line of the projection: primitives of a kind and direction, or other work of a phase.
struct ProjectedPart {
  std::string name{};
  bool replayed = false;        ///< else scaled
  double calls = 0;             ///< of primitives
  double recorded_seconds = 0;  ///< a step; of what the model stands for, without recording's cost
  double projected_seconds = 0;
};

struct Projection {
  Interval projected{};                ///< seconds of a step
  std::optional<Interval> measured{};  ///< of the plain steps between the rounds
  /// projected / measured - 1, of the medians.
  std::optional<double> relative_error{};
  double explained = 0;                ///< part of the projected step that was replayed
  double slowdown = 1;                 ///< of what was not replayed, the median
  std::string scaled_by{};             ///< "replays" or "copy bandwidth"; empty: not scaled
  std::vector<ProjectedPart> parts{};  ///< the longest first
};

/// How work outside of primitives is scaled.
struct Scaling {
  /// The profile is of this machine and thread count, so the replays give the scale. Where none of
  /// them ran, copy bandwidth does.
  bool by_replays = false;
  /// B/s beside the profile. Empty: unknown, and what has no replays is not scaled.
  std::optional<double> recorded_bandwidth{};
};

/// The upper quartile: other programs can only slow a burst down. Empty without samples.
std::optional<double> undisturbed(std::vector<double> samples);

/// Precondition: at least one round, each with as many seconds as there are tasks.
Projection project(const StepModel& model, const Scaling& scaling,
                   const std::vector<ProjectionRound>& rounds);

}  // namespace harness
