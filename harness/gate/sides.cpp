#include "harness/gate/sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/compare/set_up.hpp"
#include "harness/system/doctor.hpp"

namespace harness {
namespace {

[[noreturn]] void refuse(const std::string& side, const Result& run, const std::string& why,
                         const std::string& hint, ExitCode code = ExitCode::kUsage) {
  throw Error(fmt::format("{}, run {}", printable(side), run.identity.uuid.substr(0, 8)), why, hint,
              code);
}

void check_run(const std::string& side, const Result& run, bool allow_debug) {
  if (run.status.state == RunState::kDryRun) {
    refuse(side, run, "a dry run is no measurement", "leave it out", ExitCode::kInconclusive);
  }
  if (was_stopped(run.status)) refuse(side, run, "was stopped before its end", "measure it again");
  const std::string slow = slow_build(run.system);
  if (!slow.empty() && !allow_debug) {
    refuse(side, run, "comes from a build that is not for measuring: " + slow,
           "build with cmake --preset release, or take it as it is: --allow-debug");
  }
  if (run.status.state == RunState::kInvalid && !missed_quality(run)) {
    const std::vector<Violation>& violations = run.status.violations;
    const std::string rule = violations.empty() ? "unnamed"
                                                : fmt::format("{} (expected {}, is {})",
                                                              printable(violations[0].rule, 60),
                                                              printable(violations[0].expected, 60),
                                                              printable(violations[0].actual, 120));
    refuse(side, run, "is invalid: it broke the rule " + rule,
           "'harness validate' shows what is wrong with a file");
  }
}

/// A machine whose governor or limits changed half-way, say.
void check_alike(const Side& side, const Result& run, GateReport& report) {
  const Result& first = side.runs.front();
  if (run.rules.workload != first.rules.workload) {
    refuse(side.name, run,
           "measures " + printable(run.rules.workload, 60) + ", the first run does not",
           "give each workload a folder of its own", ExitCode::kInconclusive);
  }
  const std::map<std::string, std::string> expected = set_up_of(first);
  const std::map<std::string, std::string> actual = set_up_of(run);
  if (actual == expected || !report.forbidding.empty()) return;
  for (const auto& [name, value] : expected) {
    const auto found = actual.find(name);
    const std::string other = found == actual.end() ? "absent" : found->second;
    if (other == value) continue;
    report.forbidding.push_back({name + ", among the runs of " + side.name, value, other});
  }
  if (!report.forbidding.empty()) return;
  report.forbidding.push_back({"settings, among the runs of " + side.name, "fewer", "more"});
}

/// Files say themselves on which side of their campaign they were.
void check_campaigns(const Side& baseline, const Side& candidate) {
  std::set<std::string> ids;
  for (const Result& run : baseline.runs) {
    if (run.identity.campaign) ids.insert(run.identity.campaign->id);
  }
  for (const Result& run : candidate.runs) {
    const std::optional<CampaignPlace>& place = run.identity.campaign;
    if (!place || !ids.contains(place->id) || place->side == "candidate") continue;
    refuse(candidate.name, run, "was the baseline of the same campaign",
           "the sides were mixed up: exchange them", ExitCode::kInconclusive);
  }
}

}  // namespace

bool missed_quality(const Result& run) {
  if (missed_target(run.status)) return true;
  if (run.quality && run.quality->passed == false) return true;
  const std::vector<Violation>& violations = run.status.violations;
  return run.status.state == RunState::kInvalid && !violations.empty() &&
         std::all_of(violations.begin(), violations.end(),
                     [](const Violation& violation) { return violation.rule == "quality-target"; });
}

std::string why_invalid(const std::vector<Result>& runs) {
  const auto sound = [](const Result& run) {
    return run.status.state == RunState::kValid || missed_quality(run);
  };
  const auto found = std::find_if_not(runs.begin(), runs.end(), sound);
  if (found == runs.end()) return "";
  const std::vector<Violation>& violations = found->status.violations;
  return "is invalid: " +
         (violations.empty() ? "no reason" : printable(violations.front().rule, 60));
}

void check_gate_side(const Side& side, bool allow_debug, GateReport& report) {
  if (side.runs.empty()) throw Error(printable(side.name), "holds no result of a run");
  for (const Result& run : side.runs) {
    check_run(side.name, run, allow_debug);
    check_alike(side, run, report);
  }
}

void check_together(const Side& baseline, const Side& candidate) {
  std::set<std::string> uuids;
  for (const Side* side : {&baseline, &candidate}) {
    for (const Result& run : side->runs) {
      if (uuids.insert(run.identity.uuid).second) continue;
      refuse(side->name, run, "is there twice", "a run cannot be compared with itself",
             ExitCode::kInconclusive);
    }
  }
  check_campaigns(baseline, candidate);
}

void check_gate_sides(const Side& baseline, const Side& candidate, bool allow_debug,
                      GateReport& report) {
  for (const Side* side : {&baseline, &candidate}) check_gate_side(*side, allow_debug, report);
  check_together(baseline, candidate);
}

void refuse_missed(const Side& baseline) {
  for (const Result& run : baseline.runs) {
    if (!missed_quality(run)) continue;
    refuse(baseline.name, run, "missed its quality target", "a wrong model cannot be the baseline");
  }
}

}  // namespace harness
