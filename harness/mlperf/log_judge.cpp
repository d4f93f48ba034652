#include "harness/mlperf/log_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/base/text.hpp"

namespace harness {

using nlohmann::json;

std::string shown_json(const json& value) {
  return printable(value.dump(-1, ' ', true, json::error_handler_t::replace), 80);
}

std::optional<double> logged_number(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

std::optional<double> logged_time(const json& value) {
  if (value.is_string()) return parse_number(trim(value.get_ref<const std::string&>()));
  return logged_number(value);
}

const json& logged_member(const json& object, const std::string& name) {
  static const json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

bool same_value(const json& a, const json& b) {
  const std::optional<double> x = logged_number(a);
  const std::optional<double> y = logged_number(b);
  return x && y ? *x == *y : a == b;
}

bool list_holds(const json& list, const json& value) {
  return std::any_of(list.begin(), list.end(),
                     [&](const json& item) { return same_value(item, value); });
}

namespace {

std::string shown_list(const json& values) {
  std::vector<std::string> texts;
  for (const json& value : values) texts.push_back(shown_json(value));
  return join(texts, ", ");
}

std::string shown_keys(const std::vector<std::string>& keys) { return join(keys, " or "); }

/// Applies one rule to a log; collects what breaks it.
class Judge {
 public:
  Judge(const std::vector<LogEvent>& events, const LogRule& rule, std::vector<LogFinding>& findings)
      : events_(events), rule_(rule), findings_(findings) {}

  void apply() {
    switch (rule_.op) {
      case LogOp::kExactlyOne:
      case LogOp::kAtLeastOne:
        return count();
      case LogOp::kSomeValue:
        return some_value();
      case LogOp::kAfter:
      case LogOp::kNotAfter:
        return order();
      case LogOp::kFollowedBy:
        return followed();
      case LogOp::kMinutesSinceFirst:
        return budget();
      case LogOp::kEquals:
      case LogOp::kNotEquals:
      case LogOp::kOneOf:
      case LogOp::kAtLeast:
      case LogOp::kAbove:
        for (const LogEvent& event : events_) {
          if (concerns(event)) check_value(event);
        }
        return;
      default:
        for (const LogEvent& event : events_) {
          if (concerns(event)) check_metadata(event);
        }
    }
  }

 private:
  bool concerns(const LogEvent& event) const {
    return std::find(rule_.keys.begin(), rule_.keys.end(), event.key) != rule_.keys.end();
  }

  void report(std::int64_t line, const std::string& expected, const std::string& actual) {
    findings_.push_back({rule_.name, line, expected, actual, rule_.hint});
  }

  void count() {
    std::int64_t found = 0;
    std::int64_t second = 0;
    for (const LogEvent& event : events_) {
      if (concerns(event) && ++found == 2) second = event.line;
    }
    const std::string keys = shown_keys(rule_.keys);
    if (rule_.op == LogOp::kAtLeastOne) {
      if (found == 0) report(0, fmt::format("at least one {}", keys), "none");
    } else if (found != 1) {
      report(second, fmt::format("exactly one {}", keys),
             found == 0 ? "none" : fmt::to_string(found));
    }
  }

  void check_value(const LogEvent& event) {
    const json& value = *event.value;
    const auto expect = [&](bool holds, const std::string& expected) {
      if (!holds) {
        report(event.line, fmt::format("{} {}", event.key, expected), shown_json(value));
      }
    };
    const std::optional<double> n = logged_number(value);
    switch (rule_.op) {
      case LogOp::kEquals:
        return expect(same_value(value, rule_.value), shown_json(rule_.value));
      case LogOp::kNotEquals:
        return expect(!same_value(value, rule_.value),
                      fmt::format("not {}", shown_json(rule_.value)));
      case LogOp::kOneOf:
        return expect(list_holds(rule_.value, value),
                      fmt::format("one of {}", shown_list(rule_.value)));
      case LogOp::kAtLeast:
        return expect(n && *n >= rule_.value.get<double>(),
                      fmt::format("at least {}", shown_json(rule_.value)));
      default:
        return expect(n && *n > rule_.value.get<double>(),
                      fmt::format("above {}", shown_json(rule_.value)));
    }
  }

  void some_value() {
    std::optional<double> best;
    bool found = false;
    std::int64_t last = 0;
    for (const LogEvent& event : events_) {
      if (!concerns(event)) continue;
      const std::optional<double> n = logged_number(*event.value);
      if (!n) {
        report(event.line, fmt::format("{} a number", event.key), shown_json(*event.value));
        continue;
      }
      last = event.line;
      best = best ? std::max(*best, *n) : *n;
      found = found ||
              ((!rule_.at_least || *n >= *rule_.at_least) && (!rule_.below || *n < *rule_.below));
    }
    // Without any value another rule speaks.
    if (!best || found) return;
    std::vector<std::string> range;
    if (rule_.at_least) range.push_back(fmt::format("at least {}", *rule_.at_least));
    if (rule_.below) range.push_back(fmt::format("below {}", *rule_.below));
    report(last, fmt::format("some {} {}", shown_keys(rule_.keys), join(range, " and ")),
           fmt::format("{} at best", *best));
  }

  void order() {
    // All of them as a list, for both operators.
    const json others = rule_.value.is_array() ? rule_.value : json::array({rule_.value});
    std::string seen;
    for (const LogEvent& event : events_) {
      const std::string expected =
          fmt::format("{} {} {}", event.key, rule_.op == LogOp::kAfter ? "after" : "not after",
                      shown_list(others));
      if (concerns(event)) {
        if (rule_.op == LogOp::kAfter && seen.empty()) report(event.line, expected, "before it");
        if (rule_.op == LogOp::kNotAfter && !seen.empty()) report(event.line, expected, seen);
      }
      if (seen.empty() && list_holds(others, event.key)) {
        seen = fmt::format("{} in line {}", event.key, event.line);
      }
    }
  }

  void followed() {
    const std::string next = rule_.value;
    std::optional<LogEvent> waiting;
    const auto report_waiting = [&] {
      if (waiting) {
        report(waiting->line, fmt::format("{} followed by {}", waiting->key, next), "none follows");
      }
    };
    for (const LogEvent& event : events_) {
      if (event.key == next) waiting.reset();
      if (!concerns(event)) continue;
      report_waiting();
      waiting = event;
    }
    report_waiting();
  }

  void budget() {
    const std::string since = rule_.value;
    std::optional<double> first;
    double limit = 0;
    bool limit_known = false;
    for (const LogEvent& event : events_) {
      if (event.key == since) first = first ? std::min(*first, event.time_ms) : event.time_ms;
      if (event.key == rule_.limit_by && !limit_known) {
        limit_known = true;
        const auto named = event.value->is_string()
                               ? rule_.limits.find(event.value->get<std::string>())
                               : rule_.limits.end();
        limit = named == rule_.limits.end() ? rule_.other_limit : named->second;
      }
      if (!concerns(event) || !first) continue;
      const double minutes = (event.time_ms - *first) / 60e3;
      if (minutes < limit) continue;
      report(event.line,
             limit_known ? fmt::format("{} less than {} minutes after {}", event.key, limit, since)
                         : fmt::format("{} before {}", rule_.limit_by, event.key),
             limit_known ? fmt::format("{:.2f} minutes", minutes) : "not logged by then");
    }
  }

  void check_metadata(const LogEvent& event) {
    const auto expect = [&](bool holds, const std::string& expected) {
      if (!holds) {
        report(event.line, fmt::format("metadata of {} with {}", event.key, expected),
               shown_json(*event.metadata));
      }
    };
    // One that is null is there, too.
    const auto has = [&](const std::string& name) { return event.metadata->contains(name); };
    if (rule_.op == LogOp::kMetadataHasAny) {
      const bool any = std::any_of(rule_.value.begin(), rule_.value.end(), has);
      return expect(any, shown_keys(rule_.value.get<std::vector<std::string>>()));
    }
    const json& found = logged_member(*event.metadata, rule_.member);
    if (rule_.op == LogOp::kMetadataOneOf) {
      return expect(has(rule_.member) && list_holds(rule_.value, found),
                    fmt::format("{} one of {}", rule_.member, shown_list(rule_.value)));
    }
    if (!has(rule_.member)) return;
    if (rule_.op == LogOp::kMetadataNeeds) {
      const std::string needed = rule_.value;
      return expect(has(needed), fmt::format("{}, as it has {}", needed, rule_.member));
    }
    const std::optional<double> n = logged_number(found);
    const double bound = rule_.value;
    if (rule_.op == LogOp::kMetadataAbove) {
      return expect(n && *n > bound, fmt::format("{} above {}", rule_.member, bound));
    }
    return expect(n && *n >= bound, fmt::format("{} at least {}", rule_.member, bound));
  }

  const std::vector<LogEvent>& events_;
  const LogRule& rule_;
  std::vector<LogFinding>& findings_;
};

}  // namespace

void judge(const std::vector<LogEvent>& events, const LogRule& rule,
           std::vector<LogFinding>& findings) {
  Judge(events, rule, findings).apply();
}

}  // namespace harness
