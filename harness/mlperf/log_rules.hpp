// The rules that logs are judged by: rules/mlperf-*.json as data. The operators are a closed list.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace harness {

enum class LogOp {
  kExactlyOne,  ///< lines with the key, in the whole log
  kAtLeastOne,  ///< lines with any of the keys
  kEquals,      ///< the value of every line with the key...
  kNotEquals,
  kOneOf,
  kAtLeast,
  kAbove,
  kSomeValue,          ///< each value is a number, and one of them lies in [at_least, below)
  kAfter,              ///< every line comes after one with the key `value`
  kNotAfter,           ///< and after none with the keys `value`
  kFollowedBy,         ///< every line, before the next of the same key, by one with the key `value`
  kMinutesSinceFirst,  ///< since the earliest line with the key `value`; the limit by a value
  kMetadataHasAny,     ///< a member of these names, `value`
  kMetadataNeeds,      ///< where it has member `name`, also member `value`
  kMetadataAbove,      ///< where it has member `name`, a number above `value`
  kMetadataAtLeast,
  kMetadataOneOf,  ///< member `name` is one of `value`
};

struct LogRule {
  std::string name{};
  std::vector<std::string> keys{};  ///< one, but for kAtLeastOne
  LogOp op = LogOp::kExactlyOne;
  std::string member{};    ///< `name` in the file: of the metadata
  nlohmann::json value{};  ///< as the operator needs it; the schema has checked its type
  std::optional<double> at_least{};
  std::optional<double> below{};
  std::string limit_by{};  ///< key whose value, logged by then, picks the limit; 0 before
  std::map<std::string, double> limits{};  ///< minutes
  double other_limit = 0;
  std::string hint{};
};

/// Rules that hold where each key in `when` was first logged with one of the values listed.
struct LogRuleGroup {
  std::string name{};
  std::map<std::string, std::vector<std::string>> when{};
  std::vector<LogRule> rules{};
};

/// The benchmark that logs and packages are named after.
struct LogBenchmark {
  std::string name{};                    ///< as MLPerf calls it
  std::vector<std::string> workloads{};  ///< those that train its model, whatever its size
  std::vector<std::string> stand_ins{};  ///< those that only log under its name
};

struct LogRules {
  std::string ruleset{};
  LogBenchmark benchmark{};
  std::string prefix{};               ///< of a log line
  std::vector<std::string> fields{};  ///< members every event has
  std::vector<LogRuleGroup> groups{};
  std::vector<LogRule> notes{};  ///< worth saying, breaks nothing
};

/// The rules that logs are written for, and judged by unless others are asked for.
inline constexpr const char* kLogRules = "mlperf-training-5.1.0";

/// Reads rules/NAME.json and checks it against rules/mlperf-log.schema.json, both below `home`.
/// Throws Error that names the path and the reason inside the file.
LogRules load_log_rules(const std::filesystem::path& home, const std::string& name);

}  // namespace harness
