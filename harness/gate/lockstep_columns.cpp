#include "harness/gate/lockstep_columns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/base/same_bits.hpp"
#include "harness/gate/cluster.hpp"
#include "harness/lockstep/doubts.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr const char* kUnit = "time.unit";
constexpr const char* kTotal = "time.total";
constexpr const char* kStart = "time.start";

/// The steps of one side, one after the other.
std::vector<double> seconds_of(const SideTurns& side) {
  std::vector<double> seconds;
  for (const LockstepTurn& turn : side.turns) {
    const std::vector<double>& of_turn = turn.timed.answer.seconds;
    seconds.insert(seconds.end(), of_turn.begin(), of_turn.end());
  }
  return seconds;
}

/// Its losses by name, one after the other.
std::map<std::string, std::vector<double>> losses_of(const SideTurns& side) {
  std::map<std::string, std::vector<double>> losses;
  for (const LockstepTurn& turn : side.turns) {
    for (const auto& [name, values] : turn.timed.answer.losses) {
      for (const auto& value : values) losses[name].push_back(value.value_or(NAN));
    }
  }
  return losses;
}

double relative_difference(double a, double b) {
  const double scale = std::max(std::abs(a), std::abs(b));
  return scale > 0 ? std::abs(a - b) / scale : 0;
}

void compare_losses(const SideTurns& baseline, const SideTurns& candidate, LossComparison& found) {
  const auto before = losses_of(baseline);
  const auto now = losses_of(candidate);
  std::vector<bool> equal;
  for (const auto& [name, values] : before) {
    const auto other = now.find(name);
    if (other == now.end()) continue;
    const std::size_t steps = std::min(values.size(), other->second.size());
    equal.resize(std::max(equal.size(), steps), true);
    for (std::size_t i = 0; i < steps; ++i) {
      if (!same_bits(values[i], other->second[i])) equal[i] = false;
      const double apart = relative_difference(values[i], other->second[i]);
      if (i == 0) found.first_step = std::max(found.first_step, apart);
      found.any_step = std::max(found.any_step, apart);
    }
  }
  const bool alike = before.size() == now.size() &&
                     std::equal(before.begin(), before.end(), now.begin(),
                                [](const auto& a, const auto& b) { return a.first == b.first; });
  found.told_alike = found.told_alike && alike;
  found.steps += equal.size();
  found.equal += static_cast<std::size_t>(std::count(equal.begin(), equal.end(), true));
}

/// What each turn took by the side's own clock, and by ours what that does not account for beyond
/// the way of an order and its answer.
std::vector<double> turns_of(const SideTurns& side) {
  constexpr double kWaySeconds = 1e-3;
  std::vector<double> turns;
  for (const LockstepTurn& turn : side.turns) {
    const std::vector<double>& steps = turn.timed.answer.seconds;
    const double told = std::accumulate(steps.begin(), steps.end(), 0.0);
    turns.push_back(told + std::max(0.0, untold_seconds(turn.timed) - kWaySeconds));
  }
  return turns;
}

/// How many times as soon the candidate was ready. A tenth of a second is nothing that anybody
/// waits for, and a program that starts in milliseconds takes twice as long for a page that was not
/// there.
double start_improvement(double baseline, double candidate) {
  constexpr double kNobodyWaits = 0.1;
  const double later = candidate - baseline;
  const double beyond = std::copysign(std::max(0.0, std::abs(later) - kNobodyWaits), later);
  return baseline / (baseline + beyond);
}

double mean_step(const std::vector<double>& turns, std::size_t steps) {
  return std::accumulate(turns.begin(), turns.end(), 0.0) / static_cast<double>(steps);
}

}  // namespace

void LockstepColumns::add(const ClusterRecord& record) {
  const SideTurns& baseline = record.sides.at(baseline_);
  const SideTurns& candidate = record.sides.at(candidate_);
  unit_ = baseline.hello.unit;
  says_ = {baseline.hello.name, candidate.hello.name};
  const ClusterRounds rounds{seconds_of(baseline), seconds_of(candidate)};
  metrics_[kUnit][record.cluster] = {median(rounds.baseline), median(rounds.candidate),
                                     step_improvement(rounds)};
  const ClusterRounds turns{turns_of(baseline), turns_of(candidate)};
  const std::size_t steps = rounds.baseline.size();
  metrics_[kTotal][record.cluster] = {mean_step(turns.baseline, steps),
                                      mean_step(turns.candidate, steps), total_improvement(turns)};
  std::vector<double> starts;
  for (const SideTurns& side : record.sides) starts.push_back(side.start_seconds);
  starts = places_.without(record.cluster, starts);
  metrics_[kStart][record.cluster] = {baseline.start_seconds, candidate.start_seconds,
                                      start_improvement(starts[baseline_], starts[candidate_])};
  compare_losses(baseline, candidate, losses_);
}

bool LockstepColumns::has(const std::string& tag) {
  return tag == kUnit || tag == kTotal || tag == kStart;
}

std::vector<GateColumn> LockstepColumns::columns(const std::vector<GatedMetric>& metrics) const {
  std::vector<GateColumn> columns;
  for (const GatedMetric& metric : metrics) {
    if (has(metric.tag)) columns.push_back(column(metric));
  }
  return columns;
}

std::vector<GateColumn> columns_of_results(const Side& baseline, const Side& candidate,
                                           std::vector<GatedMetric> metrics) {
  std::erase_if(metrics,
                [](const GatedMetric& metric) { return LockstepColumns::has(metric.tag); });
  return gate_columns(baseline, candidate, metrics, true);
}

GateColumn LockstepColumns::column(const GatedMetric& metric) const {
  GateColumn column{metric, "s", Direction::kLower, {}, {}};
  for (const auto& [cluster, values] : metrics_.at(metric.tag)) {
    column.baseline[cluster] = values.baseline;
    column.candidate[cluster] = values.candidate;
    column.improvements[cluster] = values.improvement;
  }
  if (metric.tag == kUnit) column.metric.tag = "time." + unit_;
  return column;
}

}  // namespace harness
