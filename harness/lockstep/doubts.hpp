// What makes the times of a cluster doubtful.
#pragma once

#include <string>

#include "harness/lockstep/cluster.hpp"

namespace harness {

/// How much longer a turn took by our clock than the side says, less what anybody waited for a
/// processor: on a busy machine the way of an order and its answer takes long, and that is neither
/// side's doing. Below 0: it says more than it took.
double untold_seconds(const TimedAnswer& timed);

/// What makes a side's times doubtful in this cluster, empty for nothing: its clock and ours differ
/// in the median of its turns by more than 2 % and 1 ms.
std::string clock_trouble(const SideTurns& side);
/// The same for a side that did not sleep while others had their turns: by more than 5 % of a
/// processor.
std::string sleep_trouble(const SideTurns& side);

/// What sides waited for a processor in their turns.
struct Waiting {
  double waited_seconds = 0;
  double turn_seconds = 0;

  void add(const SideTurns& side);
  /// A sentence for a note; empty for less than 5 %.
  std::string trouble() const;
};

/// Why a side's end is no good one, empty for nothing: it ends with 0, or with 3 where its result
/// is invalid and says why.
std::string bad_end(const SideTurns& side);

}  // namespace harness
