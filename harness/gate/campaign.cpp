#include "harness/gate/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/line_file.hpp"
#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/failures.hpp"
#include "harness/gate/judge_pairs.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/sides.hpp"
#include "harness/gate/verdict_file.hpp"
#include "harness/gate/whole_runs.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

// ID,SIDE,PAIR: not an option, since the command line of each run is recorded as it was given.
constexpr const char* kVariable = "HARNESS_CAMPAIGN";
constexpr const char* kNoPlaceYet = "asked";
constexpr std::int64_t kMostPairs = 1'000'000;
/// What a pair costs is measured on the first ones, both orders of them.
constexpr std::int64_t kPairsToPrice = 2;
constexpr const char* kTimes = "times.jsonl";
constexpr const char* kTime = "a time";

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const CampaignHooks& hooks)
      : options_(checked(options)),
        hooks_(hooks),
        of_suites_(options.baseline.is_suite()),
        of_results_(options.baseline.leaves_results()),
        folder_(options.out, options.resumed.has_value()),
        planned_(begin_plan(options, true)),
        runs_(options, hooks, planned_.id, planned_.pause_seconds),
        baseline_{"baseline", {}},
        candidate_{"candidate", {}},
        failures_({"baseline", "candidate"}, options.out) {
    if (!of_results_) times_ = {options.rules.command_metric, "s", Direction::kLower, {}, {}};
    if (options.resumed) {
      take_again();
    } else {
      if (!options.budget_seconds) add_night(options.rules.options.most_clusters);
      write_plan(options.out, planned_);
      make_side_folders(options.out, {baseline_.name, candidate_.name});
      if (!of_results_) lines_.emplace(options.out / kTimes, kTime);
    }
  }

  GateReport run() {
    GateReport report;
    if (begin_where_it_stopped(report)) go_on(report);
    report.baseline = options_.baseline.text;
    report.candidate = options_.candidate.text;
    report.campaign = planned_.id;
    for (const auto* notes : {&failures_.notes(), &std::as_const(notes_)}) {
      report.notes.insert(report.notes.end(), notes->begin(), notes->end());
    }
    runs_.add_notes(report);
    return report;
  }

 private:
  static const CampaignOptions& checked(const CampaignOptions& options) {
    if (options.baseline.is_suite() != options.candidate.is_suite()) {
      throw Error("--ab-base and --ab-cand", "one is a harness suite, the other is not",
                  "give two commands of one kind");
    }
    refuse_own_folders(options);
    return options;
  }

  /// False where nothing is left to measure: the report is that of a campaign that has ended.
  bool begin_where_it_stopped(GateReport& report) {
    if (done_ == 0) return true;
    const CampaignDecision decision = judge(report);
    if (!report.forbidding.empty()) return false;
    const std::vector<Night>& nights = planned_.plan.nights;
    if (nights.empty() || !(decision.finished || nights.back().ended)) return true;
    if (!more_would_tell(report) || !planned_.plan.pooled) return false;
    add_night(options_.budget_seconds ? 0 : options_.rules.options.most_clusters);
    return true;
  }

  void go_on(GateReport& report) {
    forget_verdict(options_.out);
    const auto start = Steady::now();
    const std::int64_t before = done_;
    while (true) {
      if (!run_whole_pair(done_ + 1)) {
        report = failure_report(options_, failures_.why());
        return;
      }
      ++done_;
      const double elapsed = seconds_since(start);
      const double of_a_pair = elapsed / static_cast<double>(done_ - before);
      std::string end = end_of_budget(done_ - before, elapsed, of_a_pair);
      report = GateReport{};
      const CampaignDecision decision = judge(report);
      if (done_ == 1) hooks_.look_at_first(report);
      if (!report.forbidding.empty() || decision.finished || !end.empty()) {
        if (!end.empty()) report.notes.push_back(std::move(end));
        return;
      }
      say(report, decision, of_a_pair);
    }
  }

  /// Of so many pairs; 0: as many as the budget buys, once their cost is known.
  void add_night(std::size_t pairs) {
    if (pairs == 0) {
      priced_ = false;
      return;
    }
    planned_.plan.nights.push_back({pairs, std::nullopt});
    write_plan(options_.out, planned_);
  }

  /// Plans the pairs once their cost is known. Why the campaign ends after this pair; empty if the
  /// budget has room for another. What was measured has no part in it. `pairs`: run by this
  /// process.
  std::string end_of_budget(std::int64_t pairs, double elapsed, double of_a_pair) {
    if (!options_.budget_seconds) return {};
    const double budget = *options_.budget_seconds;
    if (!priced_ && pairs >= kPairsToPrice) {
      // A later night adds to what is there.
      const std::size_t fewest =
          planned_.plan.nights.empty()
              ? fewest_clusters(tested_, planned_.plan, options_.rules.options)
              : planned_.plan.block;
      const ClusterPlan plan =
          plan_clusters(budget, {of_a_pair, 0, 1, 1, 1}, fewest,
                        options_.rules.options.most_clusters, planned_.plan.block);
      priced_ = true;
      add_night(plan.clusters == 0 ? options_.rules.options.most_clusters : plan.clusters);
      if (plan.clusters == 0) {
        end_here();
        // No budget makes up for them.
        if (const std::size_t most = options_.rules.options.most_clusters; fewest > most) {
          return fmt::format("--pairs {}: no fewer than {} can tell", most, fewest);
        }
        return fmt::format(
            "a pair takes {}: no fewer than {} can tell, which takes --budget {:.1f}",
            format_time_left(of_a_pair), fewest, plan.seconds / 60);
      }
    }
    const bool last = priced_ && done_ >= last_planned();
    if (last || elapsed + of_a_pair <= budget) return {};
    if (!priced_) add_night(options_.rules.options.most_clusters);
    priced_ = true;
    end_here();
    return fmt::format("the budget of {} was spent after {}", format_time_left(budget),
                       format_count(done_, "pair"));
  }

  std::int64_t last_planned() const {
    return static_cast<std::int64_t>(
        planned_clusters(planned_.plan, options_.rules.options.most_clusters));
  }

  void end_here() {
    end_last_night(planned_.plan, static_cast<std::size_t>(done_));
    write_plan(options_.out, planned_);
  }

  /// What an earlier process of this campaign measured, in whole pairs.
  void take_again() {
    if (!of_results_) return take_times_again();
    for (std::int64_t pair = 1;; ++pair) {
      std::array<std::vector<Result>, 2> results;
      for (std::size_t i = 0; i < results.size(); ++i) {
        const fs::path folder = folder_of(i == 0 ? baseline_ : candidate_, pair);
        if (fs::exists(folder)) results[i] = runs_.left_in(folder);
      }
      const auto whole = [&](const std::vector<Result>& runs) {
        if (of_suites_ && !why_invalid(runs).empty()) return false;
        return !runs.empty() && std::none_of(runs.begin(), runs.end(), [](const Result& run) {
          return was_stopped(run.status);
        });
      };
      if (!whole(results[0]) || !whole(results[1])) return put_aside(options_.out, pair);
      add_results(baseline_, pair, std::move(results[0]));
      add_results(candidate_, pair, std::move(results[1]));
      done_ = pair;
    }
  }

  void take_times_again() {
    KeptTimes kept = read_times(options_.out / kTimes);
    times_.baseline = std::move(kept.baseline);
    times_.candidate = std::move(kept.candidate);
    done_ = std::ssize(times_.baseline);
    lines_.emplace(options_.out / kTimes, kTime, kept.lines);
    put_aside(options_.out, done_ + 1);
  }

  fs::path folder_of(const Side& side, std::int64_t pair) const {
    return run_folder(options_.out, side.name, pair);
  }

  void add_results(Side& side, std::int64_t pair, std::vector<Result> results) const {
    for (Result& result : results) {
      // Builds from before campaigns do not say it themselves.
      result.identity.campaign = CampaignPlace{planned_.id, side.name, pair};
      side.runs.push_back(std::move(result));
    }
  }

  /// False where the candidate failed for the second time. Once may happen to anybody.
  bool run_whole_pair(std::int64_t pair) {
    while (const std::optional<FailedSide> failed = run_pair(pair)) {
      const std::string place = fmt::format("pair {}", pair);
      if (failed->invalid) {
        take_invalid(pair, *failed);
      } else if (failures_.count(place, *failed) != AfterFailure::kTryAgain) {
        return false;
      }
      put_aside(options_.out, pair);
      hooks_.say(failed->invalid ? notes_.back() : failures_.notes().back());
    }
    return true;
  }

  /// Of the many runs of suites one may be invalid by chance, and hours would be lost; but the same
  /// pair twice is no chance. It is no regression either: a rate at its limit is missed now and
  /// then.
  void take_invalid(std::int64_t pair, const FailedSide& failed) {
    const std::string& side = (failed.side == kCandidate ? candidate_ : baseline_).name;
    const std::string what = fmt::format("{}, pair {}", side, pair);
    if (invalid_pair_ == pair) {
      throw Error(what, failed.why + ", in two tries",
                  "its results are in " + printable(options_.out.string()));
    }
    invalid_pair_ = pair;
    notes_.push_back(what + " was tried again: a run " + failed.why);
  }

  // A B, B A, A B, ...: what drifts evenly weighs on both sides alike.
  std::optional<FailedSide> run_pair(std::int64_t pair) {
    std::array<WholeRun, 2> runs;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const std::size_t i = pair % 2 == 1 ? k : 1 - k;
      const AskedCommand& command = i == kCandidate ? options_.candidate : options_.baseline;
      const Side& side = i == kCandidate ? candidate_ : baseline_;
      runs[i] = runs_.run(side.name, pair, command);
      std::string invalid = of_suites_ ? why_invalid(runs[i].results) : "";
      if (!invalid.empty()) return FailedSide{i, std::move(invalid), true};
      if (runs[i].failure.empty()) continue;
      const std::string name = fmt::format("{}, pair {}", side.name, pair);
      const std::string hint =
          "its output is in " + printable(folder_of(side, pair).string()) + ".txt";
      if (pair == 1) throw NeverBegan(name, runs[i].failure, hint, runs[i].code);
      if (runs[i].final) throw Error(name, runs[i].failure, hint, runs[i].code);
      return FailedSide{i, std::move(runs[i].failure)};
    }
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const std::size_t i = pair % 2 == 1 ? k : 1 - k;
      take(i == kCandidate ? candidate_ : baseline_, pair, std::move(runs[i]));
    }
    return std::nullopt;
  }

  void take(Side& side, std::int64_t pair, WholeRun run) {
    if (of_results_) return add_results(side, pair, std::move(run.results));
    (&side == &baseline_ ? times_.baseline : times_.candidate)[pair] = run.seconds;
    lines_->append(
        fmt::format(R"({{"side":"{}","pair":{},"seconds":{}}})", side.name, pair, run.seconds));
  }

  GatePlan plan_so_far() const {
    GatePlan plan = planned_.plan;
    if (!priced_ || plan.nights.empty()) {
      plan.nights.push_back({options_.rules.options.most_clusters, std::nullopt});
    }
    return plan;
  }

  CampaignDecision judge(GateReport& report) {
    const GatePlan plan = plan_so_far();
    if (of_results_) {
      CampaignDecision decision;
      report = gate_results(baseline_, candidate_, options_.rules, plan, &decision);
      const auto tested =
          std::count_if(report.rows.begin(), report.rows.end(),
                        [](const GateRow& row) { return row.margin > 0 && !row.exact; });
      tested_ = std::max<std::size_t>(1, static_cast<std::size_t>(tested));
      return decision;
    }
    report.subject = "wall time of a command";
    return judge_pairs({times_}, plan, options_.rules.options, report);
  }

  void say(const GateReport& report, const CampaignDecision& decision, double of_a_pair) const {
    const auto until = [&](std::int64_t pairs) {
      return static_cast<double>(std::max<std::int64_t>(0, pairs - done_)) * of_a_pair;
    };
    hooks_.show(report, {done_, last_planned(), until(static_cast<std::int64_t>(decision.clusters)),
                         until(last_planned())});
  }

  const CampaignOptions& options_;
  const CampaignHooks& hooks_;
  bool of_suites_;
  bool of_results_;
  CampaignFolder folder_;
  PlannedCampaign planned_;
  WholeRuns runs_;
  /// Whether the last night's pairs are planned: a budget buys as many as their cost allows.
  bool priced_ = !options_.budget_seconds || !planned_.plan.nights.empty();
  Side baseline_;
  Side candidate_;
  Failures failures_;
  std::int64_t invalid_pair_ = 0;  ///< in which a suite was invalid last
  std::vector<std::string> notes_{};
  GateColumn times_{};  ///< of commands that are no harness run
  std::optional<LineFile> lines_{};
  std::int64_t done_ = 0;   ///< pairs
  std::size_t tested_ = 1;  ///< metrics that are not exact, of what was judged last
};

}  // namespace

GateReport run_campaign(const CampaignOptions& options, const CampaignHooks& hooks) {
  return Campaign(options, hooks).run();
}

void drop_stopped_pair(Side& baseline, Side& candidate) {
  std::int64_t last = 0;
  bool stopped = false;
  for (const Side* side : {&baseline, &candidate}) {
    for (const Result& run : side->runs) {
      if (!run.identity.campaign || run.identity.campaign->pair < last) continue;
      if (run.identity.campaign->pair > last) stopped = false;
      last = run.identity.campaign->pair;
      stopped = stopped || was_stopped(run.status);
    }
  }
  if (!stopped) return;
  for (Side* side : {&baseline, &candidate}) {
    std::erase_if(side->runs, [&](const Result& run) {
      return run.identity.campaign && run.identity.campaign->pair == last;
    });
  }
}

std::pair<std::string, std::string> campaign_variable(const CampaignPlace& place) {
  return {kVariable, fmt::format("{},{},{}", place.id, place.side, place.pair)};
}

std::pair<std::string, std::string> asking_variable() { return {kVariable, kNoPlaceYet}; }

std::optional<CampaignPlace> inherited_campaign() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr || std::string_view(text) == kNoPlaceYet) return std::nullopt;
  const std::vector<std::string> parts = split(text, ',');
  const auto pair = parts.size() == 3 ? parse_integer(parts[2]) : std::nullopt;
  const bool known = pair && *pair >= 1 && *pair <= kMostPairs && is_uuid(parts[0]) &&
                     (parts[1] == "baseline" || parts[1] == "candidate");
  if (!known) {
    throw Error(kVariable, "does not hold a place in a campaign", "unset it");
  }
  return CampaignPlace{parts[0], parts[1], *pair};
}

}  // namespace harness
