#include "harness/result/common_from_json.hpp"

#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

RunState state_from(const std::string& text) {
  if (text == "valid") return RunState::kValid;
  if (text == "invalid") return RunState::kInvalid;
  return text == "dry-run" ? RunState::kDryRun : RunState::kAborted;
}

Artifact artifact_from(const json& object) {
  return {object.at("name"), object.at("source"), optional_of<std::string>(object, "sha256"),
          object.at("details").get<std::map<std::string, std::string>>()};
}

Check check_from(const json& object) {
  return {object.at("name"),      object.at("expected"),
          object.at("actual"),    optional_of<double>(object, "error"),
          object.at("tolerance"), object.at("passed")};
}

RulesReference rules_from(const json& object) {
  RulesReference rules;
  rules.workload = object.at("name");
  rules.file = object.at("rules_file");
  rules.version = object.at("rules_version");
  rules.sha256 = object.at("rules_sha256");
  rules.tier = object.at("tier");
  rules.scenario = object.value("scenario", "");
  rules.division = object.at("division");
  rules.departures = list_from<Departure>(object.at("departures"), [](const json& item) {
    return Departure{item.at("path"), item.at("expected"), item.at("actual")};
  });
  rules.mlperf_equivalent = object.at("mlperf_equivalent");
  return rules;
}

Seeds seeds_from(const json& object) {
  Seeds seeds{object.at("run"), object.at("weights"), object.at("data_order"),
              object.at("augmentation"), object.get<std::map<std::string, std::uint32_t>>()};
  for (const char* known : {"run", "weights", "data_order", "augmentation"}) {
    seeds.more.erase(known);
  }
  return seeds;
}

Status status_from(const json& object) {
  Status status;
  status.state = state_from(object.at("state"));
  status.mistrusted = object.at("mistrusted");
  status.mistrust_reasons = object.at("mistrust_reasons").get<std::vector<std::string>>();
  status.violations = list_from<Violation>(object.at("violations"), [](const json& item) {
    return Violation{item.at("rule"), item.at("path"), item.at("expected"), item.at("actual"),
                     item.at("hint")};
  });
  status.recommendations = object.at("recommendations").get<std::vector<std::string>>();
  return status;
}

std::optional<CampaignPlace> campaign_from(const json& identity) {
  if (!identity.contains("campaign")) return std::nullopt;
  const json& object = identity.at("campaign");
  return CampaignPlace{object.at("id"), object.at("side"), object.at("pair")};
}

}  // namespace

Identity identity_from_json(const json& object) {
  return {object.at("uuid"),
          object.at("series_id"),
          object.at("run_index"),
          object.at("run_count"),
          object.at("started_at"),
          object.at("ended_at"),
          object.at("harness_version"),
          optional_of<std::string>(object, "git_commit").value_or(""),
          object.at("git_dirty"),
          object.at("command_line").get<std::vector<std::string>>(),
          campaign_from(object)};
}

std::string reason_of(const json& object, const char* key) {
  if (object.contains("missing") && object.at("missing").contains(key)) {
    return object.at("missing").at(key).get<std::string>();
  }
  return object.value("reason", "");
}

Direction direction_from(const std::string& text) {
  if (text == "lower") return Direction::kLower;
  return text == "higher" ? Direction::kHigher : Direction::kNone;
}

Interval bounds_from(const json& object, double center) {
  return {center, optional_of<double>(object, "low"), optional_of<double>(object, "high"),
          object.at("confidence").get<double>()};
}

Interval interval_from(const json& object) {
  return bounds_from(object, object.at("center").get<double>());
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

void read_common(const json& document, ResultCommon& common) {
  common.identity = identity_from_json(document.at("identity"));
  common.rules = rules_from(document.at("workload"));
  common.settings = {document.at("settings").at("requested"),
                     document.at("settings").at("effective")};
  common.seeds = seeds_from(document.at("seeds"));
  if (!document.at("data").is_null()) common.dataset = artifact_from(document.at("data"));
  common.weights = list_from<Artifact>(document.at("weights"), artifact_from);
  common.hyperparameters = document.at("hyperparameters").get<std::map<std::string, std::string>>();
  common.system = document.at("system");
  common.environment_before = document.at("environment").at("before");
  common.environment_after = document.at("environment").at("after");
  common.preparation = document.at("preparation");
  common.status = status_from(document.at("status"));
  if (const auto submission = document.find("submission"); submission != document.end()) {
    common.submission = {submission->at("original_digest"),
                         submission->at("redacted").get<std::vector<std::string>>()};
  }
}

}  // namespace harness
