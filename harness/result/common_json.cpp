#include "harness/result/common_json.hpp"

#include <map>
#include <stdexcept>
#include <utility>

#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kArtifact(JsonField("name", &Artifact::name),
                               JsonField("source", &Artifact::source),
                               JsonField("details", &Artifact::details));

constexpr JsonFields kCheck(JsonField("name", &Check::name),
                            JsonField("expected", &Check::expected),
                            JsonField("actual", &Check::actual),
                            JsonField("tolerance", &Check::tolerance),
                            JsonField("passed", &Check::passed));

constexpr JsonFields kDeparture(JsonField("path", &Departure::path),
                                JsonField("expected", &Departure::expected),
                                JsonField("actual", &Departure::actual));

constexpr JsonFields kRules(JsonField("name", &RulesReference::workload),
                            JsonField("rules_file", &RulesReference::file),
                            JsonField("rules_version", &RulesReference::version),
                            JsonField("rules_sha256", &RulesReference::sha256),
                            JsonField("tier", &RulesReference::tier),
                            JsonField("division", &RulesReference::division),
                            JsonField("mlperf_equivalent", &RulesReference::mlperf_equivalent));

constexpr JsonFields kViolation(JsonField("rule", &Violation::rule),
                                JsonField("path", &Violation::path),
                                JsonField("expected", &Violation::expected),
                                JsonField("actual", &Violation::actual),
                                JsonField("hint", &Violation::hint));

constexpr JsonFields kStatus(JsonField("mistrusted", &Status::mistrusted),
                             JsonField("mistrust_reasons", &Status::mistrust_reasons),
                             JsonField("recommendations", &Status::recommendations));

constexpr JsonFields kIdentity(JsonField("uuid", &Identity::uuid),
                               JsonField("series_id", &Identity::series_id),
                               JsonField("run_index", &Identity::run_index),
                               JsonField("run_count", &Identity::run_count),
                               JsonField("started_at", &Identity::started_at),
                               JsonField("ended_at", &Identity::ended_at),
                               JsonField("harness_version", &Identity::harness_version),
                               JsonField("git_dirty", &Identity::git_dirty),
                               JsonField("command_line", &Identity::command_line));

constexpr JsonFields kCampaign(JsonField("id", &CampaignPlace::id),
                               JsonField("side", &CampaignPlace::side),
                               JsonField("pair", &CampaignPlace::pair));

constexpr JsonFields kSubmission(JsonField("original_digest", &Submission::original_digest),
                                 JsonField("redacted", &Submission::redacted));

constexpr JsonFields kSettings(JsonField("requested", &Settings::requested),
                               JsonField("effective", &Settings::effective));

constexpr JsonFields kSeeds(JsonField("run", &Seeds::run), JsonField("weights", &Seeds::weights),
                            JsonField("data_order", &Seeds::data_order),
                            JsonField("augmentation", &Seeds::augmentation));

constexpr JsonFields kCommon(JsonField("hyperparameters", &ResultCommon::hyperparameters),
                             JsonField("system", &ResultCommon::system),
                             JsonField("preparation", &ResultCommon::preparation));

constexpr JsonFields kEnvironment(JsonField("before", &ResultCommon::environment_before),
                                  JsonField("after", &ResultCommon::environment_after));

json artifact_json(const Artifact& artifact) {
  json object = kArtifact.put(artifact);
  put(object, "sha256", artifact.sha256, "generated, not read from a file");
  return object;
}

Artifact artifact_from(const json& object) {
  Artifact artifact = kArtifact.take(object);
  artifact.sha256 = optional_of<std::string>(object, "sha256");
  return artifact;
}

json check_json(const Check& check) {
  json object = kCheck.put(check);
  put(object, "error", check.error, "not a finite number");
  return object;
}

Check check_from(const json& object) {
  Check check = kCheck.take(object);
  check.error = optional_of<double>(object, "error");
  return check;
}

json rules_json(const RulesReference& rules) {
  json object = kRules.put(rules);
  object["departures"] = list_json(rules.departures, kDeparture);
  if (!rules.scenario.empty()) object["scenario"] = rules.scenario;
  if (rules.lockstep) object["lockstep"] = true;
  return object;
}

RulesReference rules_from(const json& object) {
  RulesReference rules = kRules.take(object);
  rules.departures = list_from<Departure>(object.at("departures"), kDeparture);
  rules.scenario = object.value("scenario", "");
  rules.lockstep = object.value("lockstep", false);
  return rules;
}

Seeds seeds_from(const json& object) {
  Seeds seeds = kSeeds.take(object);
  object.get_to(seeds.more);
  const json known = kSeeds.put(seeds);
  std::erase_if(seeds.more, [&](const auto& one) { return known.contains(one.first); });
  return seeds;
}

json status_json(const Status& status) {
  json object = kStatus.put(status);
  object["state"] = to_text(status.state);
  object["violations"] = list_json(status.violations, kViolation);
  return object;
}

Status status_from(const json& object) {
  Status status = kStatus.take(object);
  status.state = state_from(object.at("state"));
  status.violations = list_from<Violation>(object.at("violations"), kViolation);
  return status;
}

}  // namespace

json identity_json(const Identity& identity) {
  json object = kIdentity.put(identity);
  const bool known = !identity.git_commit.empty();
  put(object, "git_commit", known ? std::optional(identity.git_commit) : std::nullopt,
      "not built from a git checkout");
  if (identity.campaign) object["campaign"] = kCampaign.put(*identity.campaign);
  return object;
}

Identity identity_from_json(const json& object) {
  Identity identity = kIdentity.take(object);
  identity.git_commit = optional_of<std::string>(object, "git_commit").value_or("");
  if (object.contains("campaign")) identity.campaign = kCampaign.take(object.at("campaign"));
  return identity;
}

json submission_json(const Submission& submission) { return kSubmission.put(submission); }

std::string why_missing(const std::string& why) { return why.empty() ? "no reason given" : why; }

std::string reason_of(const json& object, const char* key) {
  if (object.contains("missing") && object.at("missing").contains(key)) {
    return object.at("missing").at(key).get<std::string>();
  }
  return object.value("reason", "");
}

void put_bounds(json& object, const Interval& interval) {
  put(object, "low", interval.low, "too few samples for an interval");
  put(object, "high", interval.high, "too few samples for an interval");
  object["confidence"] = interval.confidence;
}

Interval bounds_from(const json& object, double center) {
  return {center, optional_of<double>(object, "low"), optional_of<double>(object, "high"),
          object.at("confidence").get<double>()};
}

json interval_json(const Interval& interval) {
  json object = {{"center", interval.center}};
  put_bounds(object, interval);
  return object;
}

Interval interval_from(const json& object) {
  return bounds_from(object, object.at("center").get<double>());
}

json quality_json(const QualityReport& report) {
  const Quality& quality = report.quality;
  json object = {{"metric", quality.metric},
                 {"direction", to_text(quality.direction)},
                 {"checks", list_json(quality.checks, check_json)}};
  put(object, "value", quality.value, quality.reason);
  put(object, "target", report.target, "the rules set none");
  put(object, "passed", report.passed, "there is nothing to judge it by");
  put(object, "reached_at_step", report.reached_at_step, "not reached, or not followed by step");
  return object;
}

QualityReport quality_from(const json& object) {
  QualityReport report;
  report.quality.metric = object.at("metric");
  report.quality.direction = direction_from(object.at("direction"));
  report.quality.value = optional_of<double>(object, "value");
  if (!report.quality.value) report.quality.reason = reason_of(object, "value");
  report.quality.checks = list_from<Check>(object.at("checks"), check_from);
  report.target = optional_of<double>(object, "target");
  report.passed = optional_of<bool>(object, "passed");
  report.reached_at_step = optional_of<std::int64_t>(object, "reached_at_step");
  return report;
}

json common_json(const ResultCommon& common, const char* kind, const char* version) {
  json document = kCommon.put(common);
  document["kind"] = kind;
  document["schema_version"] = version;
  document["notice"] = kUnverifiedNotice;
  document["identity"] = identity_json(common.identity);
  document["workload"] = rules_json(common.rules);
  document["settings"] = kSettings.put(common.settings);
  document["seeds"] = kSeeds.put(common.seeds, common.seeds.more);
  document["weights"] = list_json(common.weights, artifact_json);
  document["environment"] = kEnvironment.put(common);
  document["status"] = status_json(common.status);
  put(document, "data", common.dataset, "no data set was opened", artifact_json);
  if (common.submission) document["submission"] = submission_json(*common.submission);
  return document;
}

void read_common(const json& document, ResultCommon& common) {
  kCommon.take(document, common);
  common.identity = identity_from_json(document.at("identity"));
  common.rules = rules_from(document.at("workload"));
  common.settings = kSettings.take(document.at("settings"));
  common.seeds = seeds_from(document.at("seeds"));
  if (!document.at("data").is_null()) common.dataset = artifact_from(document.at("data"));
  common.weights = list_from<Artifact>(document.at("weights"), artifact_from);
  kEnvironment.take(document.at("environment"), common);
  common.status = status_from(document.at("status"));
  if (document.contains("submission")) {
    common.submission = kSubmission.take(document.at("submission"));
  }
}

RunState state_from(const std::string& text) {
  if (text == "valid") return RunState::kValid;
  if (text == "invalid") return RunState::kInvalid;
  return text == "dry-run" ? RunState::kDryRun : RunState::kAborted;
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

Direction direction_from(const std::string& text) {
  if (text == "lower") return Direction::kLower;
  return text == "higher" ? Direction::kHigher : Direction::kNone;
}

}  // namespace harness
