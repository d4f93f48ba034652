#include "harness/gate/nights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr double kMinute = 60;

/// Clusters of before they were timed by themselves: all but the starts.
double rounds_seconds_of(const ClusterRecord& record) {
  if (record.rounds_seconds > 0) return record.rounds_seconds;
  double seconds = record.seconds;
  for (const SideTurns& side : record.sides) seconds -= side.start_seconds;
  return std::max(0.0, seconds);
}

}  // namespace

Nights::Nights(PlannedCampaign campaign, std::filesystem::path folder, const GateOptions& options)
    : campaign_(std::move(campaign)), folder_(std::move(folder)), options_(options) {
  if (!planned()) {
    // Who goes on before there was a plan has what the campaign began with.
    if (campaign_.most_clusters > 0) options_.most_clusters = campaign_.most_clusters;
    campaign_.most_clusters = options_.most_clusters;
    require_enough(1);
  }
  write_plan(folder_, campaign_);
}

void Nights::add(const ClusterRecord& record, bool earlier) {
  const auto sides = static_cast<double>(record.sides.size());
  const double rounds_seconds = rounds_seconds_of(record);
  cost_.sides = record.sides.size();
  cost_.start_seconds =
      (std::max(0.0, record.seconds - rounds_seconds) + campaign_.pause_seconds) / sides;
  cost_.round_seconds =
      rounds_seconds / static_cast<double>(std::max<std::size_t>(record.sides[0].turns.size(), 1));
  last_seconds_ = record.seconds;
  if (record.cluster == 1) first_seconds_ = record.seconds;
  done_ = record.cluster;
  if (earlier && of_this_night() > 0) earlier_ += record.seconds;
}

void Nights::require_enough(std::size_t metrics) const {
  const std::size_t needed = fewest(metrics);
  if (planned() || needed <= options_.most_clusters) return;
  throw TooFewPairs(fmt::format("--pairs {}", options_.most_clusters),
                    fmt::format("no fewer than {} can tell", needed),
                    fmt::format("--pairs {} would do", needed));
}

void Nights::begin(NightBudget budget, std::size_t metrics) {
  // Before the price: no budget makes up for them.
  require_enough(metrics);
  const std::size_t least = fewest(metrics);
  ClusterCost cost = cost_;
  // Nights are judged together: a total of fewer rounds has its stalls in other clusters.
  if (planned()) {
    cost.least_rounds = cost.most_rounds = static_cast<std::size_t>(rounds());
  }
  const auto plan_for = [&](double seconds) {
    return plan_clusters(seconds, cost, least, options_.most_clusters, campaign_.plan.block);
  };
  extension_.clear();
  extended_ = false;
  ClusterPlan plan = plan_for(budget.seconds);
  if (plan.clusters == 0 && budget.usual) {
    plan = plan_for(budget.most());
    if (plan.clusters > 0) {
      extend(budget,
             fmt::format("a cluster takes {}, and the usual {} have no room for {}",
                         format_time_left(last_seconds_), format_time_left(budget.seconds), least));
    }
  }
  if (plan.clusters == 0) {
    throw BudgetTooSmall(
        budget.usual ? "the usual budget of " + format_time_left(budget.seconds)
                     : fmt::format("--budget {:g}", budget.seconds / kMinute),
        fmt::format("a cluster takes {}, and no fewer than {} can tell",
                    format_time_left(last_seconds_), least),
        fmt::format("--budget {:.0f} would do", std::ceil(plan.seconds / kMinute)));
  }
  if (planned()) earlier_ = 0;
  campaign_.rounds = static_cast<std::int64_t>(plan.rounds);
  campaign_.plan.nights.push_back({plan.clusters, std::nullopt});
  expected_ = plan.seconds;
  write_plan(folder_, campaign_);
}

bool Nights::time_for_another(NightBudget budget) {
  extension_.clear();
  const double then = elapsed() + each();
  if (then <= budget.seconds) return true;
  if (then > budget.most()) return false;
  if (!extended_) {
    extend(budget,
           fmt::format("the usual {} were spent after {} of {}", format_time_left(budget.seconds),
                       of_this_night(), clusters_of_this_night()));
  }
  return true;
}

void Nights::extend(NightBudget budget, const std::string& why) {
  extended_ = true;
  extension_ = fmt::format("{}: up to {} may be taken", why, format_time_left(budget.most()));
}

void Nights::end_early() {
  end_last_night(campaign_.plan, static_cast<std::size_t>(done_));
  write_plan(folder_, campaign_);
}

GatePlan Nights::plan() const {
  GatePlan plan = campaign_.plan;
  if (plan.nights.empty()) plan.nights = {{options_.most_clusters, std::nullopt}};
  return plan;
}

std::int64_t Nights::rounds() const {
  return campaign_.rounds > 0 ? campaign_.rounds
                              : static_cast<std::int64_t>(ClusterCost{}.least_rounds);
}

std::int64_t Nights::planned_clusters() const {
  return static_cast<std::int64_t>(
      harness::planned_clusters(campaign_.plan, options_.most_clusters));
}

double Nights::seconds_until(std::size_t clusters) const {
  return std::max(0.0, static_cast<double>(clusters) - static_cast<double>(done_)) * each();
}

std::string Nights::sentence() const {
  return fmt::format("{} of {} each, about {}", clusters_of_this_night(),
                     format_count(campaign_.rounds, "round"), format_time_left(expected_));
}

std::string Nights::clusters_of_this_night() const {
  return format_count(static_cast<long long>(campaign_.plan.nights.back().clusters), "cluster");
}

std::size_t Nights::fewest(std::size_t metrics) const {
  // A later night adds to what is there.
  return planned() ? campaign_.plan.block : fewest_clusters(metrics, campaign_.plan, options_);
}

std::int64_t Nights::of_this_night() const {
  return done_ - static_cast<std::int64_t>(before_last_night(campaign_.plan));
}

double Nights::elapsed() const { return earlier_ + seconds_since(start_); }

double Nights::each() const {
  const auto clusters = static_cast<double>(std::max<std::int64_t>(of_this_night(), 1));
  // The others say what is to come.
  const bool with_cold = before_last_night(campaign_.plan) == 0 && of_this_night() > 1;
  return with_cold ? (elapsed() - first_seconds_) / (clusters - 1) : elapsed() / clusters;
}

}  // namespace harness
