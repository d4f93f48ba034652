// How many clusters a campaign has, and at which of them it is looked at: fixed before the first
// look, whatever is measured.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace harness {

/// One campaign between two commits.
struct Night {
  std::size_t clusters = 96;  ///< planned
  /// Where it ended before its plan for want of time, or nothing. What was measured must have had
  /// no part in that: such a night is looked at once more at its end, with all the error left.
  std::optional<std::size_t> ended{};
};

struct GatePlan {
  /// Whose clusters follow one another, whole blocks of each, all of the same two commits.
  std::vector<Night> nights{Night{}};
  /// Looks are taken at whole blocks of so many clusters: 2 where every other cluster runs the
  /// candidate first.
  std::size_t block = 2;
  /// Whether the clusters of later nights may be added to those of the first. Each night then has
  /// three quarters of the error that those before it left; else the one night has all of it.
  bool pooled = false;
};

struct GateLook {
  std::size_t clusters = 0;  ///< of all nights up to here
  double share = 0;          ///< of the error that may be spent up to here
};

/// The looks of all nights, in order: at 25, 50, 75 and 100 % of each, with 2, 14, 28 and 56 % of
/// its error; early looks end only what is very clear, and cost the last one little. Throws
/// std::invalid_argument for a plan without a night, with several that were not to be pooled, with
/// a night that ended after its plan, or without a block.
std::vector<GateLook> looks_of(const GatePlan& plan);

/// How many clusters the nights before the last one have.
std::size_t before_last_night(const GatePlan& plan);
/// And all of them together, with the last one as planned; `most` where there is no night yet.
std::size_t planned_clusters(const GatePlan& plan, std::size_t most);
/// The last night ends here, for want of time, with so many clusters of all nights `done`.
/// Precondition: there is a night.
void end_last_night(GatePlan& plan, std::size_t done);

/// What clusters cost: all sides start, then take turns in rounds.
struct ClusterCost {
  double start_seconds = 0;  ///< of one side, its start and its end; finite, not negative
  double round_seconds = 0;  ///< of one turn of every side; finite, not negative
  std::size_t sides = 2;
  std::size_t least_rounds = 3;  ///< both 1 for whole commands
  std::size_t most_rounds = 20;
};

struct ClusterPlan {
  std::size_t clusters = 0;  ///< 0: the budget is too small
  std::size_t rounds = 0;    ///< of each cluster
  double seconds = 0;        ///< all of it; where the budget is too small what it would take
};

/// What `budget_seconds` buy, in whole blocks: at most `most` clusters, at least `fewest`, with as
/// many rounds as leave 46 clusters: below that the number of clusters is worth more than the
/// precision of each. Throws std::invalid_argument for costs or a budget that are no numbers, and
/// for clusters that cost nothing.
ClusterPlan plan_clusters(double budget_seconds, const ClusterCost& cost, std::size_t fewest,
                          std::size_t most, std::size_t block);

}  // namespace harness
