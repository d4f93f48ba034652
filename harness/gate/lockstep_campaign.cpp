#include "harness/gate/lockstep_campaign.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/line_file.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/lockstep_sides.hpp"
#include "harness/gate/nights.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/verdict_file.hpp"
#include "harness/gate/whole_runs.hpp"
#include "harness/lockstep/cluster_json.hpp"
#include "harness/lockstep/shell_command.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

constexpr std::int64_t kClustersToPrice = 2;
constexpr double kMinute = 60;

class LockstepCampaign {
 public:
  LockstepCampaign(const CampaignOptions& options, const CampaignHooks& hooks)
      : options_(options),
        hooks_(hooks),
        folder_(options.out, options.resumed.has_value()),
        nights_(begin_plan(options, false), options.out, options.rules.options),
        sides_(options, hooks, nights_.campaign().id),
        failures_(lockstep_names(options), options.out) {
    make_side_folders(options.out, lockstep_names(options));
    const auto file = options.out / "campaign.jsonl";
    if (options.resumed) {
      const KeptClusters kept = read_clusters(file);
      lines_.emplace(file, "a cluster", kept.lines);
      if (kept.cut_off) {
        notes_.push_back(fmt::format("{} was cut off in its last line: it keeps {}",
                                     printable(file.string()),
                                     format_count(std::ssize(kept.clusters), "cluster")));
        hooks_.say(notes_.back());
      }
      if (!kept.unended.empty()) lines_->append(kept.unended);
      if (lines_->written().size == 0) append_beginning();
      if (!kept.anchor_left_out.empty()) leave_out_anchor(kept.anchor_left_out);
      for (const KeptCluster& cluster : kept.clusters) take_again(cluster);
    } else {
      lines_.emplace(file, "a cluster");
      append_beginning();
      if (const std::string why = sides_.anchor_misfit(); !why.empty()) leave_out_anchor_now(why);
    }
  }

  GateReport run() {
    GateReport report;
    if (begin_where_it_stopped(report)) go_on(report);
    report.baseline = options_.baseline.text;
    report.candidate = options_.candidate.text;
    report.campaign = nights_.campaign().id;
    for (const auto& notes : {failures_.notes(), sides_.notes(), notes_}) {
      report.notes.insert(report.notes.end(), notes.begin(), notes.end());
    }
    return report;
  }

 private:
  void append_beginning() {
    lines_->append(line_of({{"kind", "campaign"},
                            {"id", nights_.campaign().id},
                            {"at", utc_now()},
                            {"baseline", options_.baseline.text},
                            {"candidate", options_.candidate.text},
                            {"anchor", options_.anchor.text}}));
  }

  /// False where nothing is left to measure: the report is that of a campaign that has ended.
  bool begin_where_it_stopped(GateReport& report) {
    if (failures_.regressed()) {
      report = failure_report(options_, failures_.why());
      return false;
    }
    nights_.require_enough(sides_.tested_metrics());
    if (nights_.done() == 0) return true;
    const CampaignDecision decision = sides_.judge(nights_.plan(), report);
    const GatePlan& plan = nights_.campaign().plan;
    const bool over = nights_.planned() && (decision.finished || plan.nights.back().ended);
    if (!report.forbidding.empty()) return false;
    if (over) {
      if (!more_would_tell(report) || !plan.pooled) return false;
      begin_night();
    }
    return true;
  }

  void go_on(GateReport& report) {
    forget_verdict(options_.out);
    while (true) {
      if (!run_whole_cluster(nights_.done() + 1)) {
        report = failure_report(options_, failures_.why());
        return;
      }
      // The first start is a cold one, and its quality is evaluated: the second tells the price.
      if (nights_.done() >= kClustersToPrice && !nights_.planned()) begin_night();
      report = GateReport{};
      const CampaignDecision decision = sides_.judge(nights_.plan(), report);
      if (nights_.done() == 1) hooks_.look_at_first(report);
      if (!report.forbidding.empty() || decision.finished) return;
      say(report, decision);
      if (nights_.planned() && !time_for_another()) return end_here(report);
    }
  }

  /// False where the candidate failed for the second time.
  bool run_whole_cluster(std::int64_t cluster) {
    while (true) {
      cool_down(nights_.campaign().pause_seconds);
      // The quality is that of the program, not of a start.
      plan_.evaluate = cluster == 1;
      plan_.rounds = nights_.rounds();
      KeptCluster kept{{}, sides_.vacant_folders(cluster)};
      kept.record = run_cluster(sides_.commands(cluster, kept.folders), plan_, cluster);
      lines_->append(kept_line(kept));
      const std::optional<FailedSide> failed = failed_side(kept.record);
      if (!failed) {
        take_over(kept, false);
        return true;
      }
      if (!go_on_behind(kept.record, *failed)) return false;
    }
  }

  bool go_on_behind(const ClusterRecord& record, const FailedSide& failed) {
    // What never began is a mistake in the command, or it cannot step when told: a build from
    // before lockstep, or a tier that trains to a target, names the option.
    const bool began = nights_.done() > 0 || record.failed.empty() ||
                       !record.sides[failed.side].hello.name.empty();
    if (!began && failed.side == kAnchor) {
      leave_out_anchor_now("it does not begin: " + failed.why);
      return true;
    }
    // One whose words all go elsewhere cannot be understood: as a whole run it shows what it is.
    const bool silent = options_.baseline.is_run() && options_.candidate.is_run() &&
                        failed.why.find(kPrintedNothing) != std::string::npos;
    if (!began && (silent || failed.why.find("--lockstep") != std::string::npos)) {
      throw NoLockstep(record.failed, failed.why, "measure whole runs: --whole");
    }
    if (!began) {
      throw NeverBegan(record.failed, failed.why,
                       "its output is in " + printable(options_.out.string()));
    }
    switch (failures_.count(fmt::format("cluster {}", record.cluster), failed)) {
      case AfterFailure::kTryAgain:
        hooks_.say(failures_.notes().back());
        return true;
      case AfterFailure::kWithoutAnchor:
        leave_out_anchor_now("it failed twice: " + failed.why);
        return true;
      case AfterFailure::kRegressed:
        break;
    }
    return false;
  }

  /// What an earlier process of this campaign measured.
  void take_again(const KeptCluster& kept) {
    const std::size_t least = sides_.anchored() ? kAnchor + 1 : kAnchor;
    if (kept.record.sides.size() < least) {
      throw Error(printable(options_.out.string()), "has clusters of another number of sides",
                  "start a new campaign");
    }
    const std::optional<FailedSide> failed = failed_side(kept.record);
    if (!failed) return take_over(kept, true);
    if (failed->side == kAnchor && !sides_.anchored()) return;
    const auto after = failures_.count(fmt::format("cluster {}", kept.record.cluster), *failed);
    if (after == AfterFailure::kWithoutAnchor) leave_out_anchor_now("it failed twice");
  }

  void take_over(const KeptCluster& kept, bool earlier) {
    const std::optional<AnchorTrouble> trouble = sides_.take_over(kept);
    nights_.add(kept.record, earlier);
    plan_.steps_per_turn = kept.record.steps_per_turn;
    plan_.settle = kept.record.settle;
    if (!trouble) return;
    const bool own_rules = options_.anchor.has("--rules");
    const bool curable = trouble->rules_alone && !own_rules && sides_.one_set_of_rules();
    if (curable && nights_.done() == 1 && !options_.resumed) throw AnchorRules(sides_.workload());
    leave_out_anchor_now(trouble->why);
  }

  /// Kept, so that a campaign that goes on does so without it.
  void leave_out_anchor_now(const std::string& why) {
    lines_->append(line_of({{kAnchorLeftOut, why}}));
    leave_out_anchor(why);
    hooks_.say(notes_.back());
  }

  void leave_out_anchor(const std::string& why) {
    sides_.leave_out_anchor();
    notes_.push_back("the anchor is left out, so creep is not looked for: " + printable(why));
  }

  NightBudget budget() const {
    if (options_.budget_seconds) return {*options_.budget_seconds, false};
    const LockstepRules& rules = options_.rules.lockstep;
    // Also where the anchor was left out: a plan was made with that time.
    const bool anchored = !options_.anchor.text.empty();
    const auto& budgets = anchored ? rules.anchor_budgets : rules.budgets;
    const double usual = anchored ? rules.anchor_budget_minutes : rules.budget_minutes;
    const auto own = budgets.find(sides_.workload());
    return {kMinute * (own == budgets.end() ? usual : own->second), true};
  }

  void begin_night() {
    const bool first = !nights_.planned();
    nights_.begin(budget(), sides_.tested_metrics());
    tell_extension();
    hooks_.say((first ? "planned: " : "another night: ") + nights_.sentence());
  }

  bool time_for_another() {
    const bool there_is = nights_.time_for_another(budget());
    tell_extension();
    return there_is;
  }

  void tell_extension() {
    if (nights_.extension().empty()) return;
    hooks_.say(nights_.extension());
    notes_.push_back(nights_.extension());
  }

  void end_here(GateReport& report) {
    nights_.end_early();
    report = GateReport{};
    sides_.judge(nights_.plan(), report);
    const Night& night = nights_.campaign().plan.nights.back();
    report.notes.push_back(
        fmt::format("the budget of {} was spent after {} of {}", format_time_left(budget().most()),
                    *night.ended, format_count(static_cast<long long>(night.clusters), "cluster")));
  }

  void say(const GateReport& report, const CampaignDecision& decision) const {
    if (!nights_.planned()) return hooks_.show(report, {nights_.done()});
    const auto planned = nights_.planned_clusters();
    hooks_.show(report, {nights_.done(), planned, nights_.seconds_until(decision.clusters),
                         nights_.seconds_until(static_cast<std::size_t>(planned))});
  }

  const CampaignOptions& options_;
  const CampaignHooks& hooks_;
  CampaignFolder folder_;
  Nights nights_;
  LockstepSides sides_;
  Failures failures_;
  /// The turns are as the first cluster finds them.
  LockstepPlan plan_{.steps_per_turn = std::nullopt, .settle = std::nullopt};
  std::optional<LineFile> lines_{};
  std::vector<std::string> notes_{};
};

}  // namespace

GateReport run_lockstep_campaign(const CampaignOptions& options, const CampaignHooks& hooks) {
  return LockstepCampaign(options, hooks).run();
}

}  // namespace harness
