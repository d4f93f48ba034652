// Whether a set of runs converges no faster than MLPerf's reference does, and what they score.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/mlperf/convergence_points.hpp"
#include "harness/mlperf/logged_run.hpp"

namespace harness {

enum class ConvergenceOutcome {
  kAsReference,     ///< in no fewer epochs than the reference
  kWithinChance,    ///< in fewer, but so few that chance explains it: the score is scaled
  kTooFast,         ///< in fewer than chance explains
  kSmallBatch,      ///< below all points, and no faster than the smallest of them
  kTooFastOfSmall,  ///< below all points, and faster than the smallest of them
  kLargeBatch,      ///< above all points: nobody can tell
  kNotConverged,    ///< more than one run missed its target, which leaves no mean
};

struct ConvergenceCheck {
  ConvergenceOutcome outcome = ConvergenceOutcome::kNotConverged;
  double batch_size = 0;
  double epochs = 0;                            ///< mean without the fewest and the most; 0: none
  std::optional<ConvergencePoint> reference{};  ///< what they are held against
  std::string second_missed{};                  ///< the log that is one miss too many
  std::string stand_in{};                       ///< the workload, where it is not MLPerf's own
  double factor = 1;  ///< that the score is to be multiplied by, 1 or more

  bool passed() const;
};

/// Throws Error, naming the log, with the exit code of what is invalid, for logs that are no set:
/// another number of runs than the points ask for, another benchmark than theirs, several batch
/// sizes or none from 1 on, a converged run without epochs. (MLPerf's checker takes batch sizes of
/// 0 and below.)
ConvergenceCheck check_convergence(const ConvergencePoints& points,
                                   const std::vector<LoggedRun>& runs);

/// In one line, without the verdict's word.
std::string convergence_text(const ConvergenceCheck& check);

/// Minutes until the target: the mean without the fastest and the slowest run, one that missed its
/// target being the slowest; times `factor`. Empty where more than one missed it, or where a time
/// is missing. Precondition: at least three runs.
std::optional<double> score_minutes(const std::vector<LoggedRun>& runs, double factor);

}  // namespace harness
