// The nights of a campaign in lockstep: how many clusters each has, and whether there is time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/steady.hpp"
#include "harness/gate/decision.hpp"
#include "harness/gate/plan.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/lockstep/cluster.hpp"

namespace harness {

/// A budget without room for a verdict.
class BudgetTooSmall : public Error {
 public:
  using Error::Error;
};

/// More clusters are needed than --pairs, or the rules, allow: no budget would do.
class TooFewPairs : public Error {
 public:
  using Error::Error;
};

/// What a night may take.
struct NightBudget {
  double seconds = 0;
  bool usual = false;  ///< nobody gave it: where it does not do, twice as much may be taken

  double most() const { return usual ? 2 * seconds : seconds; }
};

/// Keeps plan.jsonl in the campaign's folder.
class Nights {
 public:
  /// Time counts from here on. `campaign` may have nights already. Throws TooFewPairs where no
  /// metric at all could be told, and leaves no plan then.
  Nights(PlannedCampaign campaign, std::filesystem::path folder, const GateOptions& options);

  /// A cluster that was measured, now or (`earlier`) by a process before.
  void add(const ClusterRecord& record, bool earlier);
  /// Throws TooFewPairs where a first night of so many `metrics` could not tell, however long it
  /// took.
  void require_enough(std::size_t metrics) const;
  /// The next night, frozen before its first look, from its budget and what the last cluster cost.
  /// `metrics`: how many are tested. A machine that is busy while the price is found makes a usual
  /// budget seem too small: then the plan may fill twice of it.
  /// Throws BudgetTooSmall, TooFewPairs. Precondition: a cluster was added.
  void begin(NightBudget budget, std::size_t metrics);
  /// A machine that is busy later than that spends a usual budget before the plan is done: then,
  /// too, twice of it may be taken. Precondition: a night was begun.
  bool time_for_another(NightBudget budget);
  /// The night ends here for want of time.
  void end_early();

  const PlannedCampaign& campaign() const { return campaign_; }
  bool planned() const { return !campaign_.plan.nights.empty(); }
  /// What is planned; before that as much as the rules allow, so that nothing is looked at early.
  GatePlan plan() const;
  /// Of a cluster.
  std::int64_t rounds() const;
  /// Clusters, all measured ones and those that all nights so far plan.
  std::int64_t done() const { return done_; }
  std::int64_t planned_clusters() const;
  /// Seconds until so many clusters are done, by what those of this night took.
  double seconds_until(std::size_t clusters) const;
  /// "40 clusters of 12 rounds each, about 9 min".
  std::string sentence() const;
  /// That the call before, of begin() or time_for_another(), was the first of this night to find
  /// the usual budget too small, and why; else empty.
  const std::string& extension() const { return extension_; }

 private:
  std::size_t fewest(std::size_t metrics) const;
  void extend(NightBudget budget, const std::string& why);
  std::int64_t of_this_night() const;
  std::string clusters_of_this_night() const;  ///< "40 clusters" are planned
  double elapsed() const;
  double each() const;

  PlannedCampaign campaign_;
  std::filesystem::path folder_;
  GateOptions options_;
  ClusterCost cost_{};
  double last_seconds_ = 0;   ///< of the last cluster
  double earlier_ = 0;        ///< seconds of this night's clusters that a process before measured
  double expected_ = 0;       ///< of the plan
  double first_seconds_ = 0;  ///< of the campaign's first cluster, whose starts are cold
  bool extended_ = false;     ///< this night, and it was told
  std::string extension_{};
  std::int64_t done_ = 0;
  Steady::time_point start_ = Steady::now();
};

}  // namespace harness
