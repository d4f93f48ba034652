// One rule applied to the events of a log.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/mlperf/log_rules.hpp"

namespace harness {

/// A rule that a line, or the log as a whole, breaks.
struct LogFinding {
  std::string rule{};
  std::int64_t line = 0;  ///< 1-based; 0: the log as a whole
  std::string expected{};
  std::string actual{};
  std::string hint{};
};

/// What rules look at of a line; the pointers go into the line's own JSON.
struct LogEvent {
  std::int64_t line = 0;
  double time_ms = 0;
  std::string key{};  ///< empty where it is no text: then it is no key that a rule names
  const nlohmann::json* value = nullptr;
  const nlohmann::json* metadata = nullptr;
};

/// Appends what in `events` breaks `rule`, by line.
void judge(const std::vector<LogEvent>& events, const LogRule& rule,
           std::vector<LogFinding>& findings);

/// A number as MLPerf's checkers take it: true and false count as 1 and 0.
std::optional<double> logged_number(const nlohmann::json& value);
/// Milliseconds; text is taken where it is a number.
std::optional<double> logged_time(const nlohmann::json& value);
/// Null where `object` is none, or lacks it.
const nlohmann::json& logged_member(const nlohmann::json& object, const std::string& name);
bool same_value(const nlohmann::json& a, const nlohmann::json& b);
bool list_holds(const nlohmann::json& list, const nlohmann::json& value);
/// For messages: ASCII, short.
std::string shown_json(const nlohmann::json& value);

}  // namespace harness
