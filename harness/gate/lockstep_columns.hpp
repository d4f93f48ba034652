// What the gate judges of two sides in lockstep, cluster by cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/side.hpp"
#include "harness/gate/failures.hpp"
#include "harness/gate/rules.hpp"
#include "harness/gate/start_places.hpp"
#include "harness/gate/values.hpp"
#include "harness/lockstep/cluster.hpp"

namespace harness {

/// How the losses of both sides compare, step by step.
struct LossComparison {
  std::size_t steps = 0;  ///< that both sides told losses of
  std::size_t equal = 0;  ///< of them, to the last bit
  /// Largest relative difference of a loss in the first step of each cluster, where both sides have
  /// done the same so far; behind it rounding grows.
  double first_step = 0;
  double any_step = 0;     ///< the same of all steps
  bool told_alike = true;  ///< both sides told losses of the same names
};

/// One side of the clusters against another.
class LockstepColumns {
 public:
  /// Their places among a cluster's sides.
  LockstepColumns(std::size_t baseline, std::size_t candidate)
      : baseline_(baseline), candidate_(candidate) {}

  /// A cluster in which nothing failed; in their order.
  void add(const ClusterRecord& record);

  /// Whether this is one of its own metrics: time.unit, time.total, time.start.
  static bool has(const std::string& tag);
  /// The columns of those among `metrics`.
  std::vector<GateColumn> columns(const std::vector<GatedMetric>& metrics) const;
  const LossComparison& losses() const { return losses_; }
  /// What the sides call themselves.
  const std::string& baseline() const { return says_.front(); }
  const std::string& candidate() const { return says_.back(); }

 private:
  struct Values {
    double baseline = 0;
    double candidate = 0;
    double improvement = 0;
  };

  GateColumn column(const GatedMetric& metric) const;

  std::size_t baseline_;
  std::size_t candidate_;
  std::string unit_{};
  std::map<std::string, std::map<std::int64_t, Values>> metrics_{};
  StartPlaces places_{};
  LossComparison losses_{};
  std::vector<std::string> says_{2};
};

/// Of `metrics` those that stand in the results, by cluster; the others are LockstepColumns' own.
/// Throws as gate_columns().
std::vector<GateColumn> columns_of_results(const Side& baseline, const Side& candidate,
                                           std::vector<GatedMetric> metrics);

/// All that a campaign in lockstep measured.
struct LockstepNumbers {
  LockstepColumns to_baseline{kBaseline, kCandidate};
  LockstepColumns to_anchor{kAnchor, kCandidate};
  const Side* anchor = nullptr;  ///< its runs, none where it leaves no results; null: no anchor
};

}  // namespace harness
