#include "harness/gate/lockstep_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/line_file.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/gate.hpp"
#include "harness/gate/lockstep_columns.hpp"
#include "harness/gate/nights.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/verdict_file.hpp"
#include "harness/gate/whole_runs.hpp"
#include "harness/lockstep/cluster.hpp"
#include "harness/lockstep/cluster_json.hpp"
#include "harness/lockstep/shell_command.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCandidate = 1;
constexpr std::size_t kAnchor = 2;
constexpr std::int64_t kClustersToPrice = 2;
constexpr double kMinute = 60;

std::vector<std::string> commands_in(const CampaignOptions& options) {
  refuse_own_folders(options);
  const bool of_results =
      ends_in_harness_run(options.baseline) && ends_in_harness_run(options.candidate);
  if (of_results && !options.anchor.empty() && !ends_in_harness_run(options.anchor)) {
    throw Error("--anchor", "is no harness run, which the other two commands are",
                "give commands of one kind");
  }
  std::vector<std::string> commands = {options.baseline, options.candidate};
  if (!options.anchor.empty()) commands.push_back(options.anchor);
  return commands;
}

std::vector<std::string> names_of(std::size_t sides) {
  std::vector<std::string> names = {"baseline", "candidate", kAnchorName};
  names.resize(sides);
  return names;
}

class LockstepCampaign {
 public:
  LockstepCampaign(const CampaignOptions& options, const CampaignHooks& hooks)
      : options_(options),
        hooks_(hooks),
        commands_(commands_in(options)),
        names_(names_of(commands_.size())),
        of_results_(ends_in_harness_run(options.baseline) &&
                    ends_in_harness_run(options.candidate)),
        folder_(options.out, names_, options.resumed.has_value()),
        nights_(begin_plan(options, false), options.out, options.rules.options),
        doubtful_(commands_.size()),
        failures_(commands_.size()),
        says_(commands_.size()) {
    for (const std::string& name : names_) sides_.push_back({name, {}});
    if (commands_.size() > kAnchor) numbers_.anchor = &sides_[kAnchor];
    const fs::path file = options.out / "campaign.jsonl";
    if (options.resumed) {
      KeptClusters kept = read_clusters(file);
      lines_.emplace(file, "a cluster", kept.lines);
      for (const KeptCluster& cluster : kept.clusters) take_again(cluster);
    } else {
      lines_.emplace(file, "a cluster");
      lines_->append(line_of({{"kind", "campaign"},
                              {"id", nights_.campaign().id},
                              {"at", utc_now()},
                              {"baseline", options.baseline},
                              {"candidate", options.candidate},
                              {"anchor", options.anchor}}));
    }
  }

  GateReport run() {
    GateReport report;
    if (begin_where_it_stopped(report)) go_on(report);
    report.baseline = options_.baseline;
    report.candidate = options_.candidate;
    report.campaign = nights_.campaign().id;
    report.notes.insert(report.notes.end(), notes_.begin(), notes_.end());
    return report;
  }

 private:
  /// False where nothing is left to measure: the report is that of a campaign that has ended.
  bool begin_where_it_stopped(GateReport& report) {
    if (failures_[kCandidate] > 1) {
      report = failure_report(options_, failure_);
      return false;
    }
    if (nights_.done() == 0) return true;
    const CampaignDecision decision = judge(report);
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
        report = failure_report(options_, failure_);
        return;
      }
      // The first start is a cold one, and its quality is evaluated: the second tells the price.
      if (nights_.done() >= kClustersToPrice && !nights_.planned()) begin_night();
      report = GateReport{};
      const CampaignDecision decision = judge(report);
      if (nights_.done() == 1) hooks_.look_at_first(report);
      if (!report.forbidding.empty() || decision.finished) return;
      say(report, decision);
      if (nights_.planned() && !nights_.time_for_another(budget())) return end_here(report);
    }
  }

  /// False where the candidate failed for the second time. Once may happen to anybody.
  bool run_whole_cluster(std::int64_t cluster) {
    while (true) {
      cool_down(nights_.campaign().pause_seconds);
      // The quality is that of the program, not of a start.
      plan_.evaluate = cluster == 1;
      plan_.rounds = nights_.rounds();
      KeptCluster kept;
      for (const std::string& name : names_) kept.folders.push_back(vacant_folder(name, cluster));
      kept.record = run_cluster(sides_of(cluster, kept.folders), plan_, cluster);
      lines_->append(kept_line(kept));
      const Failure failure = failure_of(kept.record);
      if (failure.why.empty()) {
        take_over(kept, false);
        return true;
      }
      refuse_first_failure(kept.record);
      if (!may_try_again(kept.record, failure)) return false;
      hooks_.say(notes_.back());
    }
  }

  struct Failure {
    std::size_t side = 0;
    std::string why{};
  };

  /// Why the cluster cannot be judged; empty where it can.
  Failure failure_of(const ClusterRecord& record) const {
    for (std::size_t i = 0; i < record.sides.size(); ++i) {
      const SideTurns& side = record.sides[i];
      if (side.name == record.failed) return {i, record.failure};
      const bool diverged = !side.turns.empty() && side.turns.back().timed.answer.diverged();
      if (diverged) return {i, "gives a loss that is not finite"};
    }
    for (std::size_t i = 0; i < record.sides.size(); ++i) {
      const std::string why = bad_end(record.sides[i]);
      if (!why.empty()) return {i, why};
    }
    return {};
  }

  /// The first failure of a side is a note. Of the second the candidate's is its regression.
  bool may_try_again(const ClusterRecord& record, const Failure& failure) {
    const std::string& name = names_[failure.side];
    if (++failures_[failure.side] == 1) {
      notes_.push_back(
          fmt::format("cluster {} was tried again: {} {}", record.cluster, name, failure.why));
      return true;
    }
    if (failure.side != kCandidate) {
      throw Error(fmt::format("{}, cluster {}", name, record.cluster), failure.why,
                  "it has to run; its output is in " + printable(options_.out.string()));
    }
    failure_ = failure.why;
    return false;
  }

  /// What never began is a mistake in the command, or it cannot step when told: a build from before
  /// lockstep, or a tier that trains to a target, names the option.
  void refuse_first_failure(const ClusterRecord& record) const {
    if (nights_.done() > 0 || record.failed.empty()) return;
    for (const SideTurns& side : record.sides) {
      if (side.name != record.failed || !side.hello.name.empty()) continue;
      if (record.failure.find("--lockstep") != std::string::npos) {
        throw NoLockstep(record.failed, record.failure, "measure whole runs: --whole");
      }
      throw NeverBegan(record.failed, record.failure,
                       "its output is in " + printable(options_.out.string()));
    }
  }

  /// A try that failed, or was stopped, keeps its own.
  std::string vacant_folder(const std::string& side, std::int64_t cluster) const {
    const std::string name = fmt::format("{}/{:03}", side, cluster);
    std::string vacant = name;
    for (int again = 1;
         fs::exists(options_.out / vacant) || fs::exists(options_.out / (vacant + ".txt"));
         ++again) {
      vacant = fmt::format("{}-again{}", name, again > 1 ? std::to_string(again) : "");
    }
    return vacant;
  }

  std::vector<SideCommand> sides_of(std::int64_t cluster,
                                    const std::vector<std::string>& folders) const {
    std::vector<SideCommand> sides;
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      const fs::path folder = options_.out / folders[i];
      SideCommand side{names_[i], commands_[i], {}, folder.string() + ".txt"};
      if (ends_in_harness_run(commands_[i])) {
        side.command += " --lockstep --out " + shell_word(folder.string());
        // An old build knows two sides.
        if (i != kAnchor) {
          side.environment.push_back(
              campaign_variable({nights_.campaign().id, names_[i], cluster}));
        }
      }
      sides.push_back(std::move(side));
    }
    return sides;
  }

  /// What an earlier process of this campaign measured.
  void take_again(const KeptCluster& kept) {
    if (kept.record.sides.size() != commands_.size()) {
      throw Error(printable(options_.out.string()), "has clusters of another number of sides",
                  "start a new campaign");
    }
    const Failure failure = failure_of(kept.record);
    if (failure.why.empty()) return take_over(kept, true);
    may_try_again(kept.record, failure);
  }

  void take_over(const KeptCluster& kept, bool earlier) {
    const ClusterRecord& record = kept.record;
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      check_program(i, record);
      check_clock(i, record);
      const std::string trouble = sleep_trouble(record.sides[i]);
      if (!trouble.empty()) {
        notes_.push_back(fmt::format("cluster {}: {} {}", record.cluster, names_[i], trouble));
      }
      if (of_results_) take_results(i, record.cluster, options_.out / kept.folders.at(i));
    }
    numbers_.to_baseline.add(record);
    if (numbers_.anchor != nullptr) numbers_.to_anchor.add(record);
    nights_.add(record, earlier);
  }

  /// A build that is replaced half-way would be judged as one program.
  void check_program(std::size_t i, const ClusterRecord& record) {
    const std::string& name = record.sides[i].hello.name;
    if (says_[i].empty()) says_[i] = name;
    if (says_[i] == name) return;
    throw Error(
        fmt::format("{}, cluster {}", names_[i], record.cluster),
        fmt::format("is '{}' now, and was '{}'", printable(name, 80), printable(says_[i], 80)),
        "start a new campaign");
  }

  /// One that lies does so always; on a busy machine an answer may be late in a cluster or two.
  void check_clock(std::size_t i, const ClusterRecord& record) {
    const std::string trouble = clock_trouble(record.sides[i]);
    if (!trouble.empty()) {
      notes_.push_back(fmt::format("cluster {}: {} {}", record.cluster, names_[i], trouble));
      ++doubtful_[i];
    }
    constexpr std::int64_t kEnough = 8;
    constexpr std::int64_t kFew = 4;
    // A debug build takes its time to answer.
    if (options_.rules.allow_debug) return;
    if (record.cluster < kEnough || doubtful_[i] * kFew <= record.cluster) return;
    throw Error(fmt::format("{}, {} of {} clusters", names_[i], doubtful_[i], record.cluster),
                trouble.empty() ? "its clock and ours differ" : trouble,
                "its times cannot be judged", ExitCode::kInvalid);
  }

  void take_results(std::size_t side, std::int64_t cluster, const fs::path& folder) {
    std::vector<Result> results = hooks_.read(folder);
    if (results.empty()) {
      throw Error(fmt::format("{}, cluster {}", names_[side], cluster), "left no result",
                  "its output is in " + printable(folder.string()) + ".txt");
    }
    for (Result& result : results) {
      result.identity.campaign = CampaignPlace{nights_.campaign().id, names_[side], cluster};
      sides_[side].runs.push_back(std::move(result));
    }
  }

  double budget() const {
    if (options_.budget_seconds) return *options_.budget_seconds;
    if (nights_.campaign().budget_seconds) return *nights_.campaign().budget_seconds;
    const LockstepRules& rules = options_.rules.lockstep;
    const bool anchored = numbers_.anchor != nullptr;
    const auto& budgets = anchored ? rules.anchor_budgets : rules.budgets;
    const double usual = anchored ? rules.anchor_budget_minutes : rules.budget_minutes;
    const auto own =
        of_results_ ? budgets.find(sides_.front().runs.front().rules.workload) : budgets.end();
    return kMinute * (own == budgets.end() ? usual : own->second);
  }

  std::size_t tested_metrics() const {
    const auto tested = [](const std::vector<GatedMetric>& metrics) {
      return std::count_if(metrics.begin(), metrics.end(),
                           [](const GatedMetric& metric) { return !metric.exact; });
    };
    const LockstepRules& rules = options_.rules.lockstep;
    const auto anchored = numbers_.anchor != nullptr ? tested(rules.anchor_metrics) : 0;
    return static_cast<std::size_t>(tested(rules.metrics) + anchored);
  }

  void begin_night() {
    const bool first = !nights_.planned();
    nights_.begin(budget(), tested_metrics());
    hooks_.say((first ? "planned: " : "another night: ") + nights_.sentence());
  }

  CampaignDecision judge(GateReport& report) const {
    const GatePlan plan = nights_.plan();
    if (!of_results_) return gate_times(numbers_, options_.rules, plan, report);
    CampaignDecision decision;
    report = gate_results(sides_.front(), sides_[kCandidate], options_.rules, plan, &decision,
                          &numbers_);
    return decision;
  }

  void end_here(GateReport& report) {
    nights_.end_early();
    report = GateReport{};
    judge(report);
    const Night& night = nights_.campaign().plan.nights.back();
    report.notes.push_back(
        fmt::format("the budget of {} was spent after {} of {}", format_time_left(budget()),
                    *night.ended, format_count(static_cast<long long>(night.clusters), "cluster")));
  }

  void say(const GateReport& report, const CampaignDecision& decision) const {
    const auto planned = nights_.planned_clusters();
    hooks_.show(report, {nights_.done(), planned, nights_.seconds_until(decision.clusters),
                         nights_.seconds_until(static_cast<std::size_t>(planned))});
  }

  const CampaignOptions& options_;
  const CampaignHooks& hooks_;
  std::vector<std::string>
      commands_;  ///< of the baseline, the candidate and, it may be, the anchor
  std::vector<std::string> names_;
  bool of_results_;  ///< each is a `harness run`
  CampaignFolder folder_;
  Nights nights_;
  std::vector<std::int64_t> doubtful_;  ///< clusters
  std::vector<int> failures_;
  std::vector<std::string> says_;  ///< what each calls itself
  std::vector<Side> sides_{};
  LockstepNumbers numbers_{};
  LockstepPlan plan_{};
  std::optional<LineFile> lines_{};
  std::vector<std::string> notes_{};
  std::string failure_{};
};

}  // namespace

GateReport run_lockstep_campaign(const CampaignOptions& options, const CampaignHooks& hooks) {
  return LockstepCampaign(options, hooks).run();
}

}  // namespace harness
