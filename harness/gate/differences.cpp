#include "harness/gate/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "harness/base/text.hpp"
#include "harness/compare/set_up.hpp"

namespace harness {
namespace {

// What a step's work consists of, and where it is done.
constexpr std::array kAlwaysAlike = {"machine",        "tier", "batch_size", "max_epochs",
                                     "quality_target", "data", "scenario"};
// What a person may set differently on purpose, in two commands that run in turn. In files from two
// days it is more likely a mistake.
constexpr std::array kAlikeInFiles = {"kernels", "precision", "allocator",    "threads",
                                      "cpus",    "weights",   "usable cores", "governor"};

bool is_one_of(const auto& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool forbids(const std::string& fact, bool interleaved) {
  return is_one_of(kAlwaysAlike, fact) || fact.starts_with("set ") ||
         (!interleaved && is_one_of(kAlikeInFiles, fact));
}

}  // namespace

void find_differences(const Result& baseline, const Result& candidate, bool interleaved,
                      GateReport& report) {
  const auto compare = [&](const std::string& name, const std::string& before,
                           const std::string& now, bool forbidden) {
    if (before == now) return;
    (forbidden ? report.forbidding : report.differences).push_back({name, before, now});
  };
  const auto rules = [](const Result& run) {
    return fmt::format("{} {} ({})", printable(run.rules.workload, 60),
                       printable(run.rules.version, 32), run.rules.sha256.substr(0, 8));
  };
  compare("workload and rules", rules(baseline), rules(candidate), true);
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
    compare(name, value_in(before, name), value_in(now, name), forbids(name, interleaved));
  }
}

}  // namespace harness
