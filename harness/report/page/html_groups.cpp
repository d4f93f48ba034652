#include "harness/report/page/html_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "harness/base/text.hpp"
#include "harness/compare/set_up.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

std::string named(const std::string& name, const std::string& value) {
  if (name == "precision" || name == "allocator" || name == "processor") return value;
  if (name == "commit") return "commit " + value.substr(0, 7);
  if (name == "machine" || name == "data") return name + " " + value.substr(0, 8);
  return printable(name, 40) + " " + value;
}

}  // namespace

bool is_measurement(const ReportItem& run) {
  const Status& status = run.result->status;
  return run.file.problems.empty() && status.state != RunState::kDryRun &&
         (status.state != RunState::kAborted || missed_target(status));
}

std::vector<WorkGroup> group_runs(const ReportData& data) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, std::map<SetUp, RunPlaces>> found;
  for (std::size_t i = 0; i < data.runs().size(); ++i) {
    const ReportItem& run = data.runs()[i];
    if (!is_measurement(run)) continue;
    const Result& result = as<Result>(run);
    const RulesReference& rules = result.rules;
    // What one of LoadGen's scenarios times is nothing to another one.
    const std::string scenario = result.loadgen ? rules.scenario : "";
    found[{rules.workload, rules.tier, scenario, rules.sha256, machine_of(result)}]
         [set_up_of(result)]
             .push_back(i);
  }
  std::vector<WorkGroup> groups;
  for (auto& [key, set_ups] : found) {
    WorkGroup& group = groups.emplace_back();
    const auto& [workload, tier, scenario, rules, machine] = key;
    group.title =
        fmt::format("{} · {}{} · machine {}", printable(workload, 60), printable(tier, 24),
                    scenario.empty() ? "" : " · " + printable(scenario, 24), short_name(machine));
    group.set_ups.assign(set_ups.begin(), set_ups.end());
    std::stable_sort(group.set_ups.begin(), group.set_ups.end(), [](const auto& a, const auto& b) {
      const auto rank = [](const auto& one) {
        const auto kernels = one.first.find("kernels");
        const bool reference = kernels != one.first.end() && kernels->second == "reference";
        return std::pair(!reference, one.second.front());
      };
      return rank(a) < rank(b);
    });
  }
  return groups;
}

std::vector<std::string> set_up_names(const std::vector<SetUp>& set_ups) {
  std::map<std::string, std::set<std::string>> values;
  for (const SetUp& set_up : set_ups) {
    for (const auto& [name, value] : set_up) values[name].insert(value);
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < set_ups.size(); ++i) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : set_ups[i]) {
      const auto known = values.find(name);
      const bool everywhere = std::all_of(set_ups.begin(), set_ups.end(), [&](const SetUp& other) {
        return other.count(name) > 0;
      });
      if (known->second.size() > 1 || !everywhere) parts.push_back(named(name, value));
    }
    std::string text = join(parts, ", ");
    names.push_back(text.empty() ? fmt::format("set-up {}", i + 1) : printable(text, 120));
  }
  return names;
}

}  // namespace harness
