#include "harness/gate/lockstep_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/gate.hpp"
#include "harness/gate/lockstep_campaign.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

std::vector<AskedCommand> commands_in(const CampaignOptions& options) {
  std::vector<AskedCommand> commands = {options.baseline, options.candidate};
  if (!options.anchor.text.empty()) commands.push_back(options.anchor);
  return commands;
}

}  // namespace

std::vector<std::string> lockstep_names(const CampaignOptions& options) {
  refuse_own_folders(options);
  std::vector<std::string> names = {"baseline", "candidate", kAnchorName};
  names.resize(commands_in(options).size());
  return names;
}

std::optional<FailedSide> failed_side(const ClusterRecord& record) {
  for (std::size_t i = 0; i < record.sides.size(); ++i) {
    const SideTurns& side = record.sides[i];
    if (side.name == record.failed) return FailedSide{i, record.failure};
    const bool diverged = !side.turns.empty() && side.turns.back().timed.answer.diverged();
    if (diverged) return FailedSide{i, "gives a loss that is not finite"};
  }
  for (std::size_t i = 0; i < record.sides.size(); ++i) {
    std::string why = bad_end(record.sides[i]);
    if (!why.empty()) return FailedSide{i, std::move(why)};
  }
  return std::nullopt;
}

LockstepSides::LockstepSides(const CampaignOptions& options, const CampaignHooks& hooks,
                             std::string id)
    : options_(options),
      hooks_(hooks),
      id_(std::move(id)),
      names_(lockstep_names(options)),
      commands_(commands_in(options)),
      doubtful_(names_.size()),
      says_(names_.size()) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    sides_.push_back({names_[i], {}});
  }
  of_results_ = commands_[kBaseline].leaves_results() && commands_[kCandidate].leaves_results();
  if (anchored()) numbers_.anchor = &sides_[kAnchor];
}

std::vector<std::string> LockstepSides::vacant_folders(std::int64_t cluster) const {
  std::vector<std::string> folders;
  for (const std::string& side : names_) {
    const std::string name = fmt::format("{}/{:03}", side, cluster);
    std::string vacant = name;
    for (int again = 1;
         fs::exists(options_.out / vacant) || fs::exists(options_.out / (vacant + ".txt"));
         ++again) {
      vacant = fmt::format("{}-again{}", name, again > 1 ? std::to_string(again) : "");
    }
    folders.push_back(std::move(vacant));
  }
  return folders;
}

std::vector<SideCommand> LockstepSides::commands(std::int64_t cluster,
                                                 const std::vector<std::string>& folders) const {
  std::vector<SideCommand> sides;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const fs::path folder = options_.out / folders.at(i);
    const AskedCommand& command = commands_[i];
    SideCommand side{names_[i], command.text, {}, folder.string() + ".txt"};
    if (command.leaves_results()) {
      side.environment = command.with({"--lockstep", "--out", folder.string()}).variables();
      side.knows_its_output = true;
      // An old build knows two sides.
      if (i != kAnchor) side.environment.push_back(campaign_variable({id_, names_[i], cluster}));
    }
    sides.push_back(std::move(side));
  }
  return sides;
}

std::optional<AnchorTrouble> LockstepSides::take_over(const KeptCluster& kept) {
  take_side(kBaseline, kept);
  take_side(kCandidate, kept);
  numbers_.to_baseline.add(kept.record);
  if (!anchored()) return std::nullopt;
  try {
    take_side(kAnchor, kept);
  } catch (const Error& error) {
    return AnchorTrouble{error.what_failed() + ": " + error.why(), false};
  }
  numbers_.to_anchor.add(kept.record);
  if (!of_results_) return std::nullopt;
  return anchor_trouble(sides_[kAnchor], sides_[kCandidate], options_.rules);
}

void LockstepSides::leave_out_anchor() {
  numbers_.anchor = nullptr;
  names_.resize(kAnchor);
  commands_.resize(kAnchor);
}

void LockstepSides::take_side(std::size_t i, const KeptCluster& kept) {
  check_program(i, kept.record);
  check_clock(i, kept.record);
  const std::string trouble = sleep_trouble(kept.record.sides[i]);
  if (!trouble.empty()) {
    notes_.push_back(fmt::format("cluster {}: {} {}", kept.record.cluster, names_[i], trouble));
  }
  waiting_.add(kept.record.sides[i]);
  if (commands_[i].leaves_results()) take_results(i, kept.record.cluster, kept.folders.at(i));
}

/// A build that is replaced half-way would be judged as one program.
void LockstepSides::check_program(std::size_t i, const ClusterRecord& record) {
  const std::string& name = record.sides[i].hello.name;
  if (says_[i].empty()) says_[i] = name;
  if (says_[i] == name) return;
  throw Error(
      fmt::format("{}, cluster {}", names_[i], record.cluster),
      fmt::format("is '{}' now, and was '{}'", printable(name, 80), printable(says_[i], 80)),
      "start a new campaign");
}

/// One that lies does so always; on a busy machine an answer may be late in a cluster or two.
void LockstepSides::check_clock(std::size_t i, const ClusterRecord& record) {
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
              trouble.empty() ? "its clock and ours differ" : trouble, "its times cannot be judged",
              ExitCode::kInvalid);
}

void LockstepSides::take_results(std::size_t i, std::int64_t cluster, const std::string& folder) {
  std::vector<Result> results = hooks_.read(options_.out / folder);
  if (results.empty()) {
    throw Error(fmt::format("{}, cluster {}", names_[i], cluster), "left no result",
                "its output is in " + printable((options_.out / folder).string()) + ".txt");
  }
  for (Result& result : results) {
    result.identity.campaign = CampaignPlace{id_, names_[i], cluster};
    sides_[i].runs.push_back(std::move(result));
  }
}

CampaignDecision LockstepSides::judge(const GatePlan& plan, GateReport& report) const {
  const Side& baseline = sides_[kBaseline];
  const Side& candidate = sides_[kCandidate];
  CampaignDecision decision;
  if (of_results_) {
    report = gate_results(baseline, candidate, options_.rules, plan, &decision, &numbers_);
    return decision;
  }
  decision = gate_times(numbers_, options_.rules, plan, report);
  judge_alone(baseline, candidate, options_.rules, report);
  return decision;
}

std::size_t LockstepSides::tested_metrics() const {
  const auto tested = [](const std::vector<GatedMetric>& metrics) {
    return static_cast<std::size_t>(std::count_if(
        metrics.begin(), metrics.end(), [](const GatedMetric& metric) { return !metric.exact; }));
  };
  const LockstepRules& rules = options_.rules.lockstep;
  return tested(rules.metrics) + (anchored() ? tested(rules.anchor_metrics) : 0);
}

std::vector<std::string> LockstepSides::notes() const {
  std::vector<std::string> notes = notes_;
  if (std::string trouble = waiting_.trouble(); !trouble.empty())
    notes.push_back(std::move(trouble));
  return notes;
}

std::string LockstepSides::workload() const {
  return of_results_ ? sides_[kBaseline].runs.front().rules.workload : "";
}

std::string LockstepSides::anchor_misfit() const {
  if (!anchored() || !of_results_ || commands_[kAnchor].is_run()) return "";
  return "it tells of no harness run: another command, or a build from before it could be asked";
}

bool LockstepSides::one_set_of_rules() const {
  const auto sha256 = [&](std::size_t i) { return sides_[i].runs.front().rules.sha256; };
  return of_results_ && sha256(kBaseline) == sha256(kCandidate);
}

}  // namespace harness
