#include "harness/mlperf/log_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

std::vector<LogEvent> checked_events(const LogRules& rules, const std::vector<LogLine>& lines,
                                     std::vector<LogFinding>& problems) {
  std::vector<LogEvent> events;
  for (const LogLine& line : lines) {
    const auto missing = std::find_if(rules.fields.begin(), rules.fields.end(),
                                      [&](const auto& name) { return !line.event.contains(name); });
    if (missing != rules.fields.end()) {
      problems.push_back({"line-fields", line.line, fmt::format("the member {}", *missing),
                          "missing", fmt::format("each line has {}", join(rules.fields, ", "))});
      continue;
    }
    const auto part = [&](const char* name) -> const json& {
      return logged_member(line.event, name);
    };
    const std::optional<double> time = logged_time(part("time_ms"));
    if (!time) {
      problems.push_back(
          {"line-time", line.line, "time_ms a number", shown_json(part("time_ms")), ""});
      continue;
    }
    const json& key = part("key");
    events.push_back({line.line, *time, key.is_string() ? key.get<std::string>() : std::string(),
                      &part("value"), &part("metadata")});
  }
  return events;
}

bool holds(const LogRuleGroup& group, const std::vector<LogEvent>& events) {
  return std::all_of(group.when.begin(), group.when.end(), [&](const auto& condition) {
    const auto first = std::find_if(events.begin(), events.end(), [&](const LogEvent& event) {
      return event.key == condition.first;
    });
    return first != events.end() && list_holds(json(condition.second), *first->value);
  });
}

}  // namespace

LogCheck check_log(const LogRules& rules, const std::vector<LogLine>& lines) {
  LogCheck check;
  check.ruleset = rules.ruleset;
  const std::vector<LogEvent> events = checked_events(rules, lines, check.problems);
  for (const LogRuleGroup& group : rules.groups) {
    if (!holds(group, events)) continue;
    check.groups.push_back(group.name);
    for (const LogRule& rule : group.rules) judge(events, rule, check.problems);
  }
  for (const LogRule& rule : rules.notes) judge(events, rule, check.notes);
  return check;
}

}  // namespace harness
