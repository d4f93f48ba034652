#include "harness/gate/differences.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "harness/base/text.hpp"
#include "harness/compare/set_up.hpp"

namespace harness {

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
