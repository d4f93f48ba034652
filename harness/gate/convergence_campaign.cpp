#include "harness/gate/convergence_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/convergence.hpp"
#include "harness/gate/differences.hpp"
#include "harness/gate/failures.hpp"
#include "harness/gate/sides.hpp"
#include "harness/gate/whole_runs.hpp"

namespace harness {
namespace {

constexpr double kMinute = 60;

class ConvergenceCampaign {
 public:
  ConvergenceCampaign(const CampaignOptions& options, const CampaignHooks& hooks)
      : options_(checked(options)),
        hooks_(hooks),
        folder_(options.out, options.resumed.has_value()),
        planned_(begin_plan(options, true)),
        runs_(options, hooks, planned_.id, planned_.pause_seconds),
        sides_{Side{"baseline", {}}, Side{"candidate", {}}},
        failures_({"baseline", "candidate"}, options.out) {
    if (options.resumed) {
      take_again();
    } else {
      write_plan(options.out, planned_);
      make_side_folders(options.out, {"baseline", "candidate"});
    }
  }

  GateReport run() {
    GateReport report;
    while (!over(report)) {
      if (!run_pair()) {
        report = failure_report(options_, failures_.why());
        break;
      }
      if (planned_.plan.nights.empty()) plan_the_rest();
    }
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
    refuse_own_folders(options);
    for (const AskedCommand* command : {&options.baseline, &options.candidate}) {
      for (const char* name : {"--seed", "--runs"}) {
        if (!command->has(name)) continue;
        throw Error("command '" + printable(command->text, 80) + "'",
                    fmt::format("has a {} of its own", name),
                    "leave it out: each pair of trainings gets one seed");
      }
    }
    return options;
  }

  /// Judges what there is. Whether nothing more is to be trained.
  bool over(GateReport& report) const {
    const std::size_t pairs = sides_.front().runs.size();
    if (pairs == 0) return false;
    report = GateReport{};
    const Side& baseline = sides_.front();
    const Side& candidate = sides_[kCandidate];
    check_gate_sides(baseline, candidate, options_.rules.allow_debug, report);
    const Result& first = baseline.runs.front();
    report.workload = first.rules.workload;
    report.subject =
        fmt::format("{} {}, tier {}", printable(first.rules.workload, 60),
                    printable(first.rules.version, 32), printable(first.rules.tier, 40));
    find_differences(first, candidate.runs.front(), true, report);
    if (!report.forbidding.empty()) return true;
    const std::size_t seeds = planned_seeds();
    const Convergence found = judge_convergence(trained(baseline), trained(candidate), seeds,
                                                options_.rules.convergence, options_.rules.options);
    report.rows = found.rows;
    report.alarm_error = options_.rules.options.alarm;
    report.same_error = options_.rules.options.same;
    report.method = fmt::format(
        "{} to the target with a seed each: epochs by Mann and Whitney's exact "
        "bounds, misses by Fisher's exact test. At most {:g} % that convergence is called "
        "regressed "
        "or faster and is not; at most {:g} % that one changed by its margin is called the same",
        format_count(2 * std::ssize(baseline.runs), "training"), report.alarm_error * 100,
        report.same_error * 100);
    return found.same_bits || (!planned_.plan.nights.empty() && pairs >= seeds);
  }

  static std::vector<TrainedRun> trained(const Side& side) {
    std::vector<TrainedRun> runs;
    for (const Result& run : side.runs) runs.push_back(trained_run(run));
    return runs;
  }

  std::size_t planned_seeds() const {
    return planned_.plan.nights.empty() ? options_.rules.convergence.most_seeds
                                        : planned_.plan.nights.front().clusters;
  }

  double budget() const {
    if (options_.budget_seconds) return *options_.budget_seconds;
    const ConvergenceRules& rules = options_.rules.convergence;
    const auto own = rules.budgets.find(sides_.front().runs.front().rules.workload);
    return kMinute * (own == rules.budgets.end() ? rules.budget_minutes : own->second);
  }

  /// Frozen before the first look at other bits, from the budget and what the first pair cost.
  void plan_the_rest() {
    const ConvergenceRules& rules = options_.rules.convergence;
    const double each = seconds_since(start_);
    const auto affordable = static_cast<std::size_t>(std::max(1.0, budget() / each));
    const std::size_t seeds = std::min(affordable, rules.most_seeds);
    planned_.plan.nights = {{seeds, std::nullopt}};
    write_plan(options_.out, planned_);
    if (seeds >= rules.fewest_seeds) return;
    notes_.push_back(
        fmt::format("two trainings take {}: no fewer than {} seeds can tell, which takes "
                    "--convergence-budget {:.0f}",
                    format_time_left(each), rules.fewest_seeds,
                    std::ceil(each * static_cast<double>(rules.fewest_seeds) / kMinute)));
  }

  /// The same on both sides, others in each campaign: a seed that is kind to one side is not so for
  /// ever.
  std::uint32_t seed_of(std::int64_t pair) const {
    constexpr int kHexDigits = 7;
    constexpr int kBase = 16;
    const std::string digits = sha256_hex(fmt::format("{} {}", planned_.id, pair));
    return static_cast<std::uint32_t>(std::stoul(digits.substr(0, kHexDigits), nullptr, kBase));
  }

  /// False where the candidate failed for the second time. Once may happen to anybody.
  bool run_pair() {
    const auto pair = static_cast<std::int64_t>(sides_.front().runs.size()) + 1;
    while (true) {
      std::array<std::vector<Result>, 2> results;
      const std::optional<FailedSide> failed = train(pair, results);
      if (!failed) {
        for (std::size_t i = 0; i < sides_.size(); ++i) take(i, pair, std::move(results[i]));
        say(pair);
        return true;
      }
      if (failures_.count(fmt::format("pair {}", pair), *failed) != AfterFailure::kTryAgain) {
        return false;
      }
      put_aside(options_.out, pair);
      hooks_.say(failures_.notes().back());
    }
  }

  // A B, B A, A B, ...: what drifts evenly weighs on both sides alike.
  std::optional<FailedSide> train(std::int64_t pair, std::array<std::vector<Result>, 2>& results) {
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::size_t i = pair % 2 == 1 ? k : 1 - k;
      const AskedCommand& command = i == kCandidate ? options_.candidate : options_.baseline;
      WholeRun run =
          runs_.run(sides_[i].name, pair,
                    command.with({"--runs", "1", "--seed", std::to_string(seed_of(pair))}));
      for (const Result& result : run.results) {
        if (!result.training) {
          throw Error("command '" + printable(command.text, 80) + "'", "does not train to a target",
                      "choose a tier that does");
        }
      }
      std::string why = run.failure.empty() ? why_invalid(run.results) : run.failure;
      if (!why.empty()) return FailedSide{i, std::move(why)};
      results[i] = std::move(run.results);
    }
    return std::nullopt;
  }

  void take(std::size_t side, std::int64_t pair, std::vector<Result> results) {
    results.front().identity.campaign = CampaignPlace{planned_.id, sides_[side].name, pair};
    sides_[side].runs.push_back(std::move(results.front()));
  }

  /// What an earlier process of this campaign trained, in whole pairs.
  void take_again() {
    for (std::int64_t pair = 1;; ++pair) {
      std::array<std::vector<Result>, 2> results;
      bool whole = true;
      for (std::size_t i = 0; i < results.size(); ++i) {
        const auto folder = run_folder(options_.out, sides_[i].name, pair);
        if (std::filesystem::exists(folder)) results[i] = runs_.left_in(folder);
        whole = whole && !results[i].empty() && results[i].front().training &&
                !was_stopped(results[i].front().status);
      }
      if (!whole) return put_aside(options_.out, pair);
      for (std::size_t i = 0; i < results.size(); ++i) take(i, pair, std::move(results[i]));
    }
  }

  void say(std::int64_t pair) const {
    const auto course = [&](const Side& side) {
      const TrainedRun run = trained_run(side.runs.back());
      return run.reached ? format_count(run.epochs, "epoch") : std::string("a miss");
    };
    hooks_.say(fmt::format("pair {} of at most {}: {}, the baseline {}; so far, no verdict", pair,
                           planned_seeds(), course(sides_[kCandidate]), course(sides_.front())));
  }

  const CampaignOptions& options_;
  const CampaignHooks& hooks_;
  CampaignFolder folder_;
  PlannedCampaign planned_;
  WholeRuns runs_;
  std::array<Side, 2> sides_;
  Failures failures_;
  std::vector<std::string> notes_{};
  Steady::time_point start_ = Steady::now();
};

}  // namespace

GateReport run_convergence_campaign(const CampaignOptions& options, const CampaignHooks& hooks) {
  return ConvergenceCampaign(options, hooks).run();
}

}  // namespace harness
