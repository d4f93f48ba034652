// Whether two sides converge alike: whole trainings to a target, paired by seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/gate/decision.hpp"
#include "harness/gate/report.hpp"
#include "harness/gate/rules.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// One training.
struct TrainedRun {
  bool reached = false;         ///< its target
  std::int64_t epochs = 0;      ///< that it trained
  std::int64_t max_epochs = 0;  ///< that it was given
  double seconds = 0;           ///< on the clock until the target, or its end
  /// Losses of all steps and qualities of all evaluations, by metric: what shows that two trainings
  /// were one and the same.
  std::vector<std::vector<double>> course{};
};

/// Precondition: it trained to a target.
TrainedRun trained_run(const Result& run);

/// The tests of one look, at all pairs there are:
/// - epochs until the target, a miss counted as more than any run had: Hodges and Lehmann's shift
/// of
///   both sides, by Mann and Whitney's exact distribution; decides "same", "faster", "regressed";
/// - misses: Fisher's exact test; it raises an alarm, and nothing waits for it;
/// - seconds until the target, pair by pair; an alarm, too.
/// Half of `options.alarm` is the misses', a quarter each of the others'. Trainings that are equal
/// to the last bit, over all pairs, are the same without a test.
struct Convergence {
  bool same_bits = false;
  std::vector<GateRow> rows{};
};

/// `planned`: pairs; with fewer, and other bits, nothing is decided. Precondition: as many of each,
/// at least one.
Convergence judge_convergence(const std::vector<TrainedRun>& baseline,
                              const std::vector<TrainedRun>& candidate, std::size_t planned,
                              const ConvergenceRules& rules, const GateOptions& options);

}  // namespace harness
