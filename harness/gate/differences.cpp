#include "harness/gate/differences.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "harness/base/text.hpp"
#include "harness/compare/set_up.hpp"

namespace harness {
namespace {

/// The first check that the sides have with two tolerances. Each precision has its own, which the
/// gate's rules know.
std::optional<GateDifference> other_tolerance(const Result& baseline, const Result& candidate) {
  const auto precision = [](const Result& run) {
    return run.settings.effective.value("precision", "");
  };
  if (!baseline.quality || !candidate.quality || precision(baseline) != precision(candidate)) {
    return std::nullopt;
  }
  std::map<std::string, double> before;
  for (const Check& check : baseline.quality->quality.checks) before[check.name] = check.tolerance;
  const auto text = [](const std::string& name, double tolerance) {
    return fmt::format("{} within {:g}", printable(name, 60), tolerance);
  };
  for (const Check& check : candidate.quality->quality.checks) {
    const auto known = before.find(check.name);
    if (known == before.end() || known->second == check.tolerance) continue;
    return GateDifference{kChecksDiffer, text(check.name, known->second),
                          text(check.name, check.tolerance)};
  }
  return std::nullopt;
}

/// The oracle is the gate's, and no side's own.
std::optional<GateDifference> other_checks(const Result& baseline, const Result& candidate) {
  const auto text = [](const Result& run) {
    const std::string foreign = run.quality ? run.quality->foreign_checks : "";
    return foreign.empty() ? "as the gate asks for" : printable(foreign, 200);
  };
  const bool own = text(baseline) == text(Result{}) && text(candidate) == text(Result{});
  if (own) return other_tolerance(baseline, candidate);
  return GateDifference{kChecksDiffer, text(baseline), text(candidate)};
}

}  // namespace

bool is_difference_in(const GateDifference& one, const std::string& name) {
  return one.name == name || one.name.ends_with(" " + name);
}

void find_differences(const Result& baseline, const Result& candidate, bool interleaved,
                      GateReport& report) {
  const auto forbids = [&](const std::string& fact) {
    const SetUpPart part = part_of(fact);
    return part == SetUpPart::kAlways || (part == SetUpPart::kChosen && !interleaved);
  };
  const auto compare = [&](const std::string& name, const std::string& before,
                           const std::string& now) {
    if (before == now) return;
    (forbids(name) ? report.forbidding : report.differences).push_back({name, before, now});
  };
  const auto rules = [](const Result& run) {
    return fmt::format("{} ({})", printable(run.rules.version, 32), run.rules.sha256.substr(0, 8));
  };
  const auto demand = [&](const char* name, const std::string& before, const std::string& now) {
    if (before != now) report.forbidding.push_back({name, before, now});
  };
  demand("workload", printable(baseline.rules.workload, 60),
         printable(candidate.rules.workload, 60));
  demand(kRulesDiffer, rules(baseline), rules(candidate));
  if (const auto checks = other_checks(baseline, candidate)) report.forbidding.push_back(*checks);
  const std::map<std::string, std::string> before = set_up_of(baseline);
  const std::map<std::string, std::string> now = set_up_of(candidate);
  std::set<std::string> names;
  for (const auto& [name, value] : before) names.insert(name);
  for (const auto& [name, value] : now) names.insert(name);
  const auto value_in = [](const std::map<std::string, std::string>& facts,
                           const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("absent") : found->second;
  };
  for (const std::string& name : names) {
    compare(name, value_in(before, name), value_in(now, name));
  }
}

}  // namespace harness
