#include "harness/result/common_json.hpp"

#include <stdexcept>
#include <utility>

namespace harness {
namespace {

using nlohmann::json;

json artifact_json(const Artifact& artifact) {
  json object = {
      {"name", artifact.name}, {"source", artifact.source}, {"details", artifact.details}};
  put(object, "sha256", artifact.sha256, "generated, not read from a file");
  return object;
}

json check_json(const Check& check) {
  json object = {{"name", check.name},
                 {"expected", check.expected},
                 {"actual", check.actual},
                 {"tolerance", check.tolerance},
                 {"passed", check.passed}};
  put(object, "error", check.error, "not a finite number");
  return object;
}

json workload_json(const RulesReference& rules) {
  json departures = json::array();
  for (const Departure& departure : rules.departures) {
    departures.push_back(
        {{"path", departure.path}, {"expected", departure.expected}, {"actual", departure.actual}});
  }
  json object = {{"name", rules.workload},
                 {"rules_file", rules.file},
                 {"rules_version", rules.version},
                 {"rules_sha256", rules.sha256},
                 {"tier", rules.tier},
                 {"division", rules.division},
                 {"departures", std::move(departures)},
                 {"mlperf_equivalent", rules.mlperf_equivalent}};
  if (!rules.scenario.empty()) object["scenario"] = rules.scenario;
  return object;
}

json seeds_json(const Seeds& seeds) {
  json object = seeds.more;
  object.update({{"run", seeds.run},
                 {"weights", seeds.weights},
                 {"data_order", seeds.data_order},
                 {"augmentation", seeds.augmentation}});
  return object;
}

json status_json(const Status& status) {
  json violations = json::array();
  for (const Violation& violation : status.violations) {
    violations.push_back({{"rule", violation.rule},
                          {"path", violation.path},
                          {"expected", violation.expected},
                          {"actual", violation.actual},
                          {"hint", violation.hint}});
  }
  return {{"state", to_text(status.state)},
          {"mistrusted", status.mistrusted},
          {"mistrust_reasons", status.mistrust_reasons},
          {"violations", std::move(violations)},
          {"recommendations", status.recommendations}};
}

}  // namespace

json identity_json(const Identity& identity) {
  json object = {{"uuid", identity.uuid},
                 {"series_id", identity.series_id},
                 {"run_index", identity.run_index},
                 {"run_count", identity.run_count},
                 {"started_at", identity.started_at},
                 {"ended_at", identity.ended_at},
                 {"harness_version", identity.harness_version},
                 {"git_dirty", identity.git_dirty},
                 {"command_line", identity.command_line}};
  const bool known = !identity.git_commit.empty();
  put(object, "git_commit", known ? std::optional(identity.git_commit) : std::nullopt,
      "not built from a git checkout");
  if (const auto& place = identity.campaign) {
    object["campaign"] = {{"id", place->id}, {"side", place->side}, {"pair", place->pair}};
  }
  return object;
}

json submission_json(const Submission& submission) {
  return {{"original_digest", submission.original_digest}, {"redacted", submission.redacted}};
}

std::string why_missing(const std::string& why) { return why.empty() ? "no reason given" : why; }

void put_bounds(json& object, const Interval& interval) {
  put(object, "low", interval.low, "too few samples for an interval");
  put(object, "high", interval.high, "too few samples for an interval");
  object["confidence"] = interval.confidence;
}

json interval_json(const Interval& interval) {
  json object = {{"center", interval.center}};
  put_bounds(object, interval);
  return object;
}

json quality_json(const QualityReport& report) {
  const Quality& quality = report.quality;
  json checks = json::array();
  for (const Check& check : quality.checks) checks.push_back(check_json(check));
  json object = {{"metric", quality.metric},
                 {"direction", to_text(quality.direction)},
                 {"checks", std::move(checks)}};
  put(object, "value", quality.value, quality.reason);
  put(object, "target", report.target, "the rules set none");
  put(object, "passed", report.passed, "there is nothing to judge it by");
  put(object, "reached_at_step", report.reached_at_step, "not reached, or not followed by step");
  return object;
}

json common_json(const ResultCommon& common, const char* kind, const char* version) {
  json document = {
      {"kind", kind},
      {"schema_version", version},
      {"notice", kUnverifiedNotice},
      {"identity", identity_json(common.identity)},
      {"workload", workload_json(common.rules)},
      {"settings",
       {{"requested", common.settings.requested}, {"effective", common.settings.effective}}},
      {"seeds", seeds_json(common.seeds)},
      {"weights", list_json(common.weights, artifact_json)},
      {"hyperparameters", common.hyperparameters},
      {"system", common.system},
      {"environment", {{"before", common.environment_before}, {"after", common.environment_after}}},
      {"preparation", common.preparation},
      {"status", status_json(common.status)},
  };
  document["data"] = common.dataset ? artifact_json(*common.dataset) : json();
  if (!common.dataset) document["missing"]["data"] = "no data set was opened";
  if (common.submission) document["submission"] = submission_json(*common.submission);
  return document;
}

std::string to_text(RunState state) {
  switch (state) {
    case RunState::kValid:
      return "valid";
    case RunState::kInvalid:
      return "invalid";
    case RunState::kAborted:
      return "aborted";
    case RunState::kDryRun:
      return "dry-run";
  }
  throw std::logic_error("no such state of a run");
}

std::string to_text(Direction direction) {
  switch (direction) {
    case Direction::kLower:
      return "lower";
    case Direction::kHigher:
      return "higher";
    case Direction::kNone:
      return "none";
  }
  throw std::logic_error("no such direction");
}

}  // namespace harness
