#include "harness/gate/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace harness {
namespace {

constexpr std::array kParts = {0.25, 0.50, 0.75, 1.0};  // of a night's clusters
constexpr std::array kSpent = {0.02, 0.16, 0.44, 1.0};  // of its error, up to there
constexpr double kPooledNight = 0.75;
/// The fewest whose second look (24) may say "same" of nights that pool, where none of them is
/// slow: most campaigns of an unchanged program then end half way. Of noise well below the margin
/// 40 find what is slow in one start of three in 99 of 100 campaigns; 20 in 53, 32 in 95.
constexpr std::size_t kEnough = 46;

std::size_t whole_blocks(double clusters, std::size_t block) {
  const auto size = static_cast<double>(block);
  return block * static_cast<std::size_t>(std::ceil(clusters / size));
}

/// Adds the looks of a night whose first cluster is the one after `before`.
void add_looks(const Night& night, std::size_t before, double spent_before, double spent_after,
               std::size_t block, std::vector<GateLook>& looks) {
  const std::size_t planned = night.clusters / block * block;
  const std::size_t last = night.ended ? *night.ended / block * block : planned;
  const auto add = [&](std::size_t clusters, double spent) {
    const double share = spent_before + spent * (spent_after - spent_before);
    if (!looks.empty() && looks.back().clusters == before + clusters) looks.pop_back();
    if (before + clusters > 0) looks.push_back({before + clusters, share});
  };
  for (std::size_t i = 0; i + 1 < kParts.size(); ++i) {
    const std::size_t at = whole_blocks(kParts[i] * static_cast<double>(planned), block);
    if (at < last) add(at, kSpent[i]);
  }
  add(last, kSpent.back());
}

}  // namespace

std::vector<GateLook> looks_of(const GatePlan& plan) {
  if (plan.nights.empty() || plan.block == 0 || (plan.nights.size() > 1 && !plan.pooled)) {
    throw std::invalid_argument("a plan without a night or a block, or nights not to be pooled");
  }
  std::vector<GateLook> looks;
  std::size_t before = 0;
  double spent = 0;
  for (const Night& night : plan.nights) {
    if (night.ended && *night.ended > night.clusters) {
      throw std::invalid_argument("a night that ended after its plan");
    }
    const double after = plan.pooled ? spent + kPooledNight * (1 - spent) : 1;
    add_looks(night, before, spent, after, plan.block, looks);
    before += night.ended.value_or(night.clusters) / plan.block * plan.block;
    spent = after;
  }
  return looks;
}

std::size_t before_last_night(const GatePlan& plan) {
  std::size_t clusters = 0;
  for (std::size_t i = 0; i + 1 < plan.nights.size(); ++i) {
    clusters += plan.nights[i].ended.value_or(plan.nights[i].clusters);
  }
  return clusters;
}

std::size_t planned_clusters(const GatePlan& plan, std::size_t most) {
  return before_last_night(plan) + (plan.nights.empty() ? most : plan.nights.back().clusters);
}

void end_last_night(GatePlan& plan, std::size_t done) {
  plan.nights.back().ended = done - before_last_night(plan);
}

ClusterPlan plan_clusters(double budget_seconds, const ClusterCost& cost, std::size_t fewest,
                          std::size_t most, std::size_t block) {
  const double starts = static_cast<double>(cost.sides) * cost.start_seconds;
  const auto seconds_of = [&](std::size_t rounds) {
    return starts + static_cast<double>(rounds) * cost.round_seconds;
  };
  const bool sound = std::isfinite(budget_seconds) && std::isfinite(seconds_of(cost.most_rounds)) &&
                     cost.start_seconds >= 0 && cost.round_seconds >= 0 && block > 0;
  if (!sound || seconds_of(cost.least_rounds) <= 0 || cost.least_rounds > cost.most_rounds) {
    throw std::invalid_argument("a budget or a cost that is no number, or no cost");
  }
  const auto affordable = [&](std::size_t rounds) {
    const double clusters = std::max(0.0, budget_seconds / seconds_of(rounds));
    return clusters >= static_cast<double>(most) ? most : static_cast<std::size_t>(clusters);
  };
  ClusterPlan plan{0, cost.most_rounds, 0};
  while (plan.rounds > cost.least_rounds && affordable(plan.rounds) < std::min(kEnough, most)) {
    --plan.rounds;
  }
  plan.clusters = affordable(plan.rounds) / block * block;
  const std::size_t needed = whole_blocks(static_cast<double>(fewest), block);
  if (plan.clusters < needed) plan.clusters = 0;
  plan.seconds =
      static_cast<double>(plan.clusters == 0 ? needed : plan.clusters) * seconds_of(plan.rounds);
  return plan;
}

}  // namespace harness
