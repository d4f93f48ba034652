#include "harness/result/consistency_common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness/base/quality.hpp"
#include "harness/base/text.hpp"
#include "harness/base/utc.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/setting.hpp"

namespace harness {
namespace {

using nlohmann::json;

// Order statistics come back exactly. The slack is for the binomial distribution and for quotients,
// which another library version may round otherwise.
constexpr double kSlack = 1e-9;

// Ratios of a file's own numbers may overflow, however finite those are.
std::string shown(const std::optional<double>& value) {
  if (!value) return "null";
  return std::isfinite(*value) ? number_text(*value) : "a number beyond all bounds";
}

// Clocks that are set by a time server differ by less than a second; those of machines without one
// by minutes.
constexpr double kClockSkew = 600;

void check_date(const std::string& date, const std::string& path, ProblemList& problems) {
  const std::optional<double> seconds = utc_seconds(date);
  problems.expect(seconds.has_value(), path, date + " is no date");
  if (!seconds || *seconds <= utc_seconds_now() + kClockSkew) return;
  problems.expect(
      false, path,
      fmt::format("{} is ahead of this machine's clock, {}: set the clock that is wrong, "
                  "and measure again if it was the other one ({:.0f} minutes are allowed)",
                  date, utc_now(), kClockSkew / 60));
}

void check_identity(const Identity& identity, ProblemList& problems) {
  check_date(identity.started_at, "/identity/started_at", problems);
  check_date(identity.ended_at, "/identity/ended_at", problems);
  problems.expect(identity.run_index <= identity.run_count, "/identity/run_index",
                  fmt::format("{} is over run_count {}", identity.run_index, identity.run_count));
  // Both have one fixed form in UTC, so the order of the texts is that of the times.
  problems.expect(identity.started_at <= identity.ended_at, "/identity/ended_at",
                  identity.ended_at + " is before started_at " + identity.started_at);
}

void check_division(const ResultCommon& common, ProblemList& problems) {
  const RulesReference& rules = common.rules;
  const bool closed = rules.division == "closed";
  problems.expect(!closed || rules.departures.empty(), "/workload/division",
                  "closed, with departures from the rules");
  // Whoever asks for the open division gets it, departures or not.
  const auto asked = common.settings.requested.find("division");
  const bool asked_open = asked != common.settings.requested.end() && *asked == "open";
  problems.expect(closed || !rules.departures.empty() || asked_open, "/workload/division",
                  "open, without a departure and without having asked for it");
  problems.expect(!closed || !asked_open, "/workload/division",
                  "closed, although the open division was asked for");
  problems.expect(!rules.mlperf_equivalent || closed, "/workload/mlperf_equivalent",
                  "true, although the run departs from the rules");
}

// What was asked for was done, or it would have been refused.
void check_settings(const ResultCommon& common, ProblemList& problems) {
  const json& effective = common.settings.effective;
  problems.expect(effective.value("seed", json(common.seeds.run)) == common.seeds.run, "/seeds/run",
                  fmt::format("{}, but the settings have {}", common.seeds.run,
                              effective.value("seed", json()).dump()));
  for (const auto& [name, asked] : common.settings.requested.items()) {
    const auto used = effective.find(name);
    const Setting* setting = SettingTable::instance().find(name);
    if (used == effective.end() || used->is_null() || asked.is_array()) continue;
    // A run of a series has a seed of its own, a dry run is one run.
    if (setting != nullptr && (setting->part == SetUpPart::kExempt || setting->by_hash)) continue;
    problems.expect(asked == *used, fmt::format("/settings/effective/{}", printable(name, 40)),
                    fmt::format("{}, but {} was asked for", used->dump(), asked.dump()));
  }
}

void check_status(const Status& status, ProblemList& problems) {
  problems.expect(status.state != RunState::kValid || status.violations.empty(), "/status/state",
                  "valid, with violations listed");
  problems.expect(status.state != RunState::kInvalid || !status.violations.empty(), "/status/state",
                  "invalid, without a violation");
  problems.expect(status.mistrusted != status.mistrust_reasons.empty(), "/status/mistrusted",
                  status.mistrusted ? "true, without a reason" : "false, with reasons listed");
}

void check_submission(const Submission& submission, const json& document, ProblemList& problems) {
  for (std::size_t i = 0; i < submission.redacted.size(); ++i) {
    bool there = false;
    try {
      there = document.contains(json::json_pointer(submission.redacted[i]));
    } catch (const json::exception&) {
      there = false;  // no pointer at all
    }
    problems.expect(there, fmt::format("/submission/redacted/{}", i), "points to nothing here");
  }
}

/// Looks for nulls without a reason.
class NullFinder {
 public:
  NullFinder(const json& document, ProblemList& problems)
      : document_(document), problems_(problems) {}

  void find() {
    for (const auto& [key, part] : document_.items()) {
      const std::string path = "/" + pointer_step(key);
      if (part.is_null()) {
        problems_.expect(listed(document_, key), path, "null, without a reason in 'missing'");
      } else if (key == "environment") {
        for (const auto& [when, state] : part.items()) {
          nulls(state, fmt::format("{}/{}", path, when), state, "");
        }
      } else if (key != "settings") {
        // Null among the settings is a value of its own: "no such limit or choice".
        nulls(part, path, part, "");
      }
    }
  }

 private:
  static bool listed(const json& object, const std::string& key) {
    const auto missing = object.find("missing");
    return missing != object.end() && missing->is_object() && missing->contains(key);
  }

  // A null needs its reason: beside it, or under its dotted name with the section's other reasons.
  bool explained(const json& parent, const std::string& key, const json& section,
                 const std::string& dotted) const {
    // A reason is itself null where nothing went wrong.
    return key == "reason" || listed(parent, key) || listed(section, dotted) ||
           (key == "value" && parent.contains("reason"));
  }

  // As deep as the document is nested, which the reader bounds.
  void nulls(const json& value, const std::string& path, const json& section,
             const std::string& dotted) {
    if (!value.is_structured()) return;
    std::size_t index = 0;
    for (auto child = value.begin(); child != value.end(); ++child, ++index) {
      const bool object = value.is_object();
      if (!child->is_structured() && !(object && child->is_null())) continue;
      const std::string name = object ? child.key() : std::to_string(index);
      const std::string child_path = fmt::format("{}/{}", path, pointer_step(name));
      const std::string child_dotted = dotted.empty() ? name : fmt::format("{}.{}", dotted, name);
      if (child->is_structured()) {
        nulls(*child, child_path, section, child_dotted);
      } else {
        problems_.expect(explained(value, name, section, child_dotted), child_path,
                         "null, without a reason in 'missing'");
      }
    }
  }

  const json& document_;
  ProblemList& problems_;
};

void check_one(const Check& check, const std::string& path, ProblemList& problems) {
  const bool passes = check.error && *check.error <= check.tolerance;
  problems.expect(check.passed == passes, path + "/passed",
                  check.passed ? "true, with an error over the tolerance"
                               : "false, with an error within the tolerance");
  problems.expect(!check.error || *check.error >= 0, path + "/error", "is below 0");
  // Numbers that differ have an error, whatever its measure.
  const bool numbers = parse_number(check.expected) && parse_number(check.actual);
  problems.expect(!numbers || check.error != 0.0 || check.expected == check.actual, path + "/error",
                  fmt::format("0, but {} is not {}", check.actual, check.expected));
}

// Checks that stand behind a value give it: their direction says so, more is better elsewhere.
void check_share(const Quality& quality, const std::string& path, ProblemList& problems) {
  if (quality.checks.empty() || quality.direction != Direction::kLower) return;
  const Quality again = share_of_tolerance(quality.metric, quality.checks);
  if (quality.value.has_value() == again.value.has_value() &&
      (!again.value || nearly_equal(*quality.value, *again.value))) {
    return;
  }
  problems.expect(false, path + "/value",
                  fmt::format("{}, but the largest error of its checks is {} of the tolerance",
                              shown(quality.value), shown(again.value)));
}

}  // namespace

bool nearly_equal(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
  return std::abs(a - b) <= kSlack * std::max(std::abs(a), std::abs(b));
}

void ProblemList::expect(bool holds, const std::string& path, std::string reason) {
  if (!holds && problems_.size() < kMostProblems) problems_.push_back({path, std::move(reason)});
}

void ProblemList::expect_same(const std::string& path, const std::optional<double>& stored,
                              const std::optional<double>& computed) {
  const bool same =
      stored.has_value() == computed.has_value() && (!stored || nearly_equal(*stored, *computed));
  if (same) return;
  expect(false, path, fmt::format("{}, but the samples give {}", shown(stored), shown(computed)));
}

void ProblemList::expect_same_bounds(const std::string& path, const Interval& stored,
                                     const Interval& computed) {
  expect_same(path + "/low", stored.low, computed.low);
  expect_same(path + "/high", stored.high, computed.high);
  expect_same(path + "/confidence", stored.confidence, computed.confidence);
}

void ProblemList::expect_same_interval(const std::string& path, const Interval& stored,
                                       const Interval& computed) {
  expect_same(path + "/center", stored.center, computed.center);
  expect_same_bounds(path, stored, computed);
}

void ProblemList::expect_once(std::set<std::string>& seen, const std::string& name,
                              const std::string& path) {
  expect(seen.insert(name).second, path, "'" + name + "' is there twice");
}

void check_common(const ResultCommon& common, const json& document, ProblemList& problems) {
  check_identity(common.identity, problems);
  check_division(common, problems);
  check_settings(common, problems);
  check_status(common.status, problems);
  if (common.submission) check_submission(*common.submission, document, problems);
  NullFinder(document, problems).find();
}

void check_quality(const QualityReport& report, const Settings& settings,
                   std::optional<std::int64_t> steps, const std::string& path,
                   ProblemList& problems) {
  const json target = settings.effective.value("quality_target", json());
  problems.expect(report.target ? target == *report.target : target.is_null(), path + "/target",
                  fmt::format("{}, but the settings have {}", shown(report.target), target.dump()));
  std::set<std::string> names;
  for (std::size_t i = 0; i < report.quality.checks.size(); ++i) {
    const Check& check = report.quality.checks[i];
    const std::string at = fmt::format("{}/checks/{}", path, i);
    problems.expect_once(names, check.name, at + "/name");
    check_one(check, at, problems);
  }
  check_share(report.quality, path, problems);
  const std::optional<bool> passed = quality_passed(report.quality, report.target);
  const auto text = [](const std::optional<bool>& value) {
    return value ? (*value ? "true" : "false") : "null";
  };
  problems.expect(
      report.passed == passed, path + "/passed",
      fmt::format("{}, but value, target and checks give {}", text(report.passed), text(passed)));
  if (!steps) return;
  const auto reached = report.passed.value_or(false) ? steps : std::nullopt;
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : "null";
  };
  problems.expect(report.reached_at_step == reached, path + "/reached_at_step",
                  fmt::format("{}, but 'passed' and the number of steps give {}",
                              number(report.reached_at_step), number(reached)));
}

}  // namespace harness
