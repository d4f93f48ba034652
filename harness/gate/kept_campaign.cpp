#include "harness/gate/kept_campaign.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/gate.hpp"
#include "harness/gate/judge_pairs.hpp"
#include "harness/gate/lockstep_columns.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/verdict_file.hpp"
#include "harness/lockstep/cluster.hpp"
#include "harness/lockstep/doubts.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClusters = "campaign.jsonl";
constexpr const char* kTimes = "times.jsonl";
constexpr const char* kPlan = "plan.jsonl";
constexpr std::array kFiles = {kClusters, kTimes, kPlan, kVerdictFile};

bool is_campaign(const fs::path& folder) {
  return std::any_of(kFiles.begin(), kFiles.end(), [&](const char* name) {
    std::error_code ignored;
    return fs::is_regular_file(folder / name, ignored);
  });
}

/// Whether a cluster was judged: both sides took the same steps, and ended well.
bool is_whole(const ClusterRecord& record) {
  if (!record.failed.empty() || record.sides.size() < 2) return false;
  const SideTurns& first = record.sides.front();
  if (first.turns.empty()) return false;
  return std::all_of(record.sides.begin(), record.sides.end(), [&](const SideTurns& side) {
    const bool steps =
        std::all_of(side.turns.begin(), side.turns.end(), [&](const LockstepTurn& turn) {
          const std::vector<double>& seconds = turn.timed.answer.seconds;
          return seconds.size() == first.turns.front().timed.answer.seconds.size() &&
                 !seconds.empty() && !turn.timed.answer.diverged() &&
                 std::all_of(seconds.begin(), seconds.end(), [](double one) { return one > 0; });
        });
    return side.turns.size() == first.turns.size() && steps && side.start_seconds > 0 &&
           bad_end(side).empty();
  });
}

Side side_of(const std::vector<Result>& runs, const std::string& name, const std::string& id) {
  Side side{name, {}};
  for (const Result& run : runs) {
    const auto& place = run.identity.campaign;
    if (place && place->side == name && place->id == id) side.runs.push_back(run);
  }
  return side;
}

struct Sides {
  Side baseline{};
  Side candidate{};
  bool empty() const { return baseline.runs.empty() || candidate.runs.empty(); }
};

Sides sides_of(const std::vector<Result>& runs, const std::string& id) {
  Sides sides{side_of(runs, "baseline", id), side_of(runs, "candidate", id)};
  drop_stopped_pair(sides.baseline, sides.candidate);
  return sides;
}

/// Nothing where it was not made yet.
std::optional<GatePlan> plan_of(const PlannedCampaign& campaign) {
  return campaign.plan.nights.empty() ? std::nullopt : std::optional(campaign.plan);
}

KeptCampaign of_clusters(const fs::path& folder, const PlannedCampaign& campaign,
                         const std::vector<Result>& runs, const GateRules& rules) {
  KeptCampaign kept;
  LockstepNumbers numbers;
  std::size_t clusters = 0;
  bool anchored = false;
  for (const KeptCluster& cluster : read_clusters(folder / kClusters).clusters) {
    if (!is_whole(cluster.record)) continue;
    numbers.to_baseline.add(cluster.record);
    anchored = cluster.record.sides.size() > 2;
    ++clusters;
  }
  if (clusters == 0) throw Error(printable(folder.string()), "holds no whole cluster");
  const std::optional<GatePlan> plan = plan_of(campaign);
  const Sides sides = sides_of(runs, campaign.id);
  CampaignDecision decision;
  if (sides.empty()) {
    decision = gate_times(numbers, rules, plan.value_or(GatePlan{}), kept.report);
  } else {
    kept.report = gate_results(sides.baseline, sides.candidate, rules, plan, &decision, &numbers);
  }
  if (anchored) kept.report.notes.push_back("the anchor is judged by the gate alone, not here");
  kept.ended = decision.finished && plan.has_value();
  return kept;
}

KeptCampaign of_times(const fs::path& folder, const PlannedCampaign& campaign,
                      const GateRules& rules) {
  KeptCampaign kept;
  GateColumn times{rules.command_metric, "s", Direction::kLower, {}, {}};
  KeptTimes read = read_times(folder / kTimes);
  times.baseline = std::move(read.baseline);
  times.candidate = std::move(read.candidate);
  kept.report.subject = "wall time of a command";
  const std::optional<GatePlan> plan = plan_of(campaign);
  kept.ended = judge_pairs({times}, plan, rules.options, kept.report).finished && plan.has_value();
  return kept;
}

KeptCampaign of_runs(const fs::path& folder, const PlannedCampaign& campaign,
                     const std::vector<Result>& runs, const GateRules& rules) {
  const Sides sides = sides_of(runs, campaign.id);
  if (sides.empty()) throw Error(printable(folder.string()), "holds no pair of its campaign");
  const std::optional<GatePlan> plan = plan_of(campaign);
  KeptCampaign kept;
  CampaignDecision decision;
  kept.report = gate_results(sides.baseline, sides.candidate, rules, plan, &decision);
  kept.ended = decision.finished && plan.has_value();
  return kept;
}

}  // namespace

std::vector<fs::path> campaign_folders(const std::vector<std::string>& paths) {
  std::vector<fs::path> found;
  std::set<fs::path> seen;
  const auto look_at = [&](const fs::path& folder) {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(folder, error);
    if (is_campaign(folder) && seen.insert(error ? folder : whole).second) found.push_back(folder);
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) continue;
    look_at(path);
    std::vector<fs::path> below;
    auto at = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied,
                                               error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      std::error_code ignored;
      if (at->is_directory(ignored)) below.push_back(at->path());
    }
    std::sort(below.begin(), below.end());
    std::for_each(below.begin(), below.end(), look_at);
  }
  return found;
}

KeptCampaign read_campaign(const fs::path& folder, const std::vector<Result>& runs,
                           const GateRules& rules) {
  if (auto kept = read_verdict(folder)) return {std::move(*kept), true};
  const std::optional<PlannedCampaign> campaign = read_plan(folder);
  if (!campaign) throw Error(printable(folder.string()), "holds no plan of its campaign");
  std::error_code ignored;
  KeptCampaign kept =
      fs::exists(folder / kClusters, ignored) ? of_clusters(folder, *campaign, runs, rules)
      : fs::exists(folder / kTimes, ignored)  ? of_times(folder, *campaign, rules)
                                              : of_runs(folder, *campaign, runs, rules);
  if (!campaign->baseline.text.empty()) {
    kept.report.baseline = campaign->baseline.text;
    kept.report.candidate = campaign->candidate.text;
  }
  kept.report.campaign = campaign->id;
  if (!kept.ended && !campaign->baseline.text.empty() && campaign->asked) {
    kept.report.notes.push_back("where it was stopped, to go on: " + line_to_go_on(folder));
  }
  return kept;
}

}  // namespace harness
