#include <algorithm>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/result_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

template <class T>
std::optional<T> optional_of(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

// Why `key` is null: beside it, or under its name in "missing".
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

RunState state_from(const std::string& text) {
  if (text == "valid") return RunState::kValid;
  if (text == "invalid") return RunState::kInvalid;
  return text == "dry-run" ? RunState::kDryRun : RunState::kAborted;
}

Interval interval_from(const json& object) {
  return {object.at("center").get<double>(), optional_of<double>(object, "low"),
          optional_of<double>(object, "high"), object.at("confidence").get<double>()};
}

template <class T, class FromJson>
std::vector<T> list_from(const json& list, const FromJson& item_from) {
  std::vector<T> items;
  items.reserve(list.size());
  for (const json& item : list) items.push_back(item_from(item));
  return items;
}

Sample sample_from(const json& object) {
  return {object.at("step").get<std::int64_t>(), object.at("warmup").get<bool>(),
          optional_of<double>(object, "value"), object.value("reason", "")};
}

Metric metric_from(const json& object) {
  Metric metric;
  metric.tag = object.at("tag");
  metric.unit = object.at("unit");
  metric.direction = direction_from(object.at("direction"));
  metric.description = object.at("description");
  metric.samples = list_from<Sample>(object.at("samples"), sample_from);
  const json& summary = object.at("summary");
  metric.summary.n = summary.at("n");
  if (!summary.at("median").is_null()) metric.summary.median = interval_from(summary.at("median"));
  metric.summary.min = optional_of<double>(summary, "min");
  metric.summary.max = optional_of<double>(summary, "max");
  metric.summary.p90 = optional_of<double>(summary, "p90");
  metric.summary.p99 = optional_of<double>(summary, "p99");
  metric.warnings = object.at("warnings").get<std::vector<std::string>>();
  return metric;
}

Peak peak_from(const json& object) {
  Peak peak;
  peak.tag = object.at("tag");
  peak.unit = object.at("unit");
  peak.method = object.at("method");
  peak.threads = object.at("threads");
  peak.samples = object.at("samples").get<std::vector<double>>();
  if (!object.at("value").is_null()) peak.value = interval_from(object.at("value"));
  peak.reason = object.value("reason", "");
  return peak;
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

CostReport cost_from(const json& object) {
  CostReport report;
  report.cost = {
      object.at("forward_flops"), object.at("step_flops"),
      object.at("step_bytes"),    object.at("convolution_calls"),
      object.at("precision"),     object.value("phase_flops", std::map<std::string, double>())};
  report.achieved_flops_per_second = optional_of<double>(object, "achieved_flops_per_second");
  report.utilisation = optional_of<double>(object, "utilisation");
  if (!report.utilisation) report.reason = reason_of(object, "utilisation");
  return report;
}

Identity identity_from(const json& object) {
  return {object.at("uuid"),
          object.at("series_id"),
          object.at("run_index"),
          object.at("run_count"),
          object.at("started_at"),
          object.at("ended_at"),
          object.at("harness_version"),
          optional_of<std::string>(object, "git_commit").value_or(""),
          object.at("git_dirty"),
          object.at("command_line").get<std::vector<std::string>>()};
}

RulesReference rules_from(const json& object) {
  RulesReference rules;
  rules.workload = object.at("name");
  rules.file = object.at("rules_file");
  rules.version = object.at("rules_version");
  rules.sha256 = object.at("rules_sha256");
  rules.tier = object.at("tier");
  rules.division = object.at("division");
  rules.departures = list_from<Departure>(object.at("departures"), [](const json& item) {
    return Departure{item.at("path"), item.at("expected"), item.at("actual")};
  });
  rules.mlperf_equivalent = object.at("mlperf_equivalent");
  return rules;
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

Result read_document(const json& document) {
  Result result;
  result.identity = identity_from(document.at("identity"));
  result.rules = rules_from(document.at("workload"));
  result.settings = {document.at("settings").at("requested"),
                     document.at("settings").at("effective")};
  result.kernels = document.at("kernels").get<KernelSet>();
  const json& seeds = document.at("seeds");
  result.seeds = {seeds.at("run"), seeds.at("weights"), seeds.at("data_order"),
                  seeds.at("augmentation")};
  if (!document.at("data").is_null()) result.dataset = artifact_from(document.at("data"));
  result.weights = list_from<Artifact>(document.at("weights"), artifact_from);
  result.hyperparameters = document.at("hyperparameters").get<std::map<std::string, std::string>>();
  result.system = document.at("system");
  result.environment_before = document.at("environment").at("before");
  result.environment_after = document.at("environment").at("after");
  result.preparation = document.at("preparation");
  result.peaks = list_from<Peak>(document.at("peaks"), peak_from);
  result.metrics = list_from<Metric>(document.at("metrics"), metric_from);
  const json& memory = document.at("memory");
  result.memory = {optional_of<double>(memory, "peak_bytes"), memory.at("source"), ""};
  if (!result.memory.peak_bytes) result.memory.reason = reason_of(memory, "peak_bytes");
  if (!document.at("cost").is_null()) result.cost = cost_from(document.at("cost"));
  if (!document.at("quality").is_null()) result.quality = quality_from(document.at("quality"));
  result.status = status_from(document.at("status"));
  return result;
}

}  // namespace

Result result_from_json(const json& document) {
  try {
    return read_document(document);
  } catch (const json::exception& error) {
    throw Error("result", "does not fit the schema: " + printable(error.what()),
                "harness validate FILE names each problem", ExitCode::kInvalid);
  }
}

}  // namespace harness
