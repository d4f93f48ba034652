#include "harness/result/result_json.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "harness/result/json_clean.hpp"

namespace harness {
namespace {

using nlohmann::json;

std::string why_missing(const std::string& why) { return why.empty() ? "no reason given" : why; }

// Optional value with the house's convention for a missing one: null, and why under "missing".
template <class T>
void put(json& object, const char* key, const std::optional<T>& value, const std::string& why) {
  object[key] = value ? json(*value) : json();
  if (!value) object["missing"][key] = why_missing(why);
}

json interval_json(const Interval& interval) {
  json object = {{"center", interval.center}, {"confidence", interval.confidence}};
  put(object, "low", interval.low, "too few samples for an interval");
  put(object, "high", interval.high, "too few samples for an interval");
  return object;
}

json summary_json(const Summary& summary) {
  constexpr const char* kNone = "no finite sample after the warm-up";
  const bool any = summary.n > 0;
  json object = {{"n", summary.n}};
  object["median"] = summary.median ? interval_json(*summary.median) : json();
  if (!summary.median) object["missing"]["median"] = kNone;
  put(object, "min", summary.min, kNone);
  put(object, "max", summary.max, kNone);
  put(object, "p90", summary.p90, any ? "needs 50 samples" : kNone);
  put(object, "p99", summary.p99, any ? "needs 500 samples" : kNone);
  return object;
}

json sample_json(const Sample& sample) {
  json object = {{"step", sample.step}, {"warmup", sample.warmup}};
  object["value"] = sample.value ? json(*sample.value) : json();
  if (!sample.value) object["reason"] = why_missing(sample.reason);
  return object;
}

json metric_json(const Metric& metric) {
  json samples = json::array();
  for (const Sample& sample : metric.samples) samples.push_back(sample_json(sample));
  return {{"tag", metric.tag},
          {"unit", metric.unit},
          {"direction", to_text(metric.direction)},
          {"description", metric.description},
          {"summary", summary_json(metric.summary)},
          {"warnings", metric.warnings},
          {"samples", std::move(samples)}};
}

json peak_json(const Peak& peak) {
  json object = {{"tag", peak.tag},
                 {"unit", peak.unit},
                 {"method", peak.method},
                 {"threads", peak.threads},
                 {"samples", peak.samples}};
  object["value"] = peak.value ? interval_json(*peak.value) : json();
  if (!peak.value) object["reason"] = why_missing(peak.reason);
  return object;
}

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

json cost_json(const CostReport& report) {
  const Cost& cost = report.cost;
  json object = {{"forward_flops", cost.forward_flops},
                 {"step_flops", cost.step_flops},
                 {"step_bytes", cost.step_bytes},
                 {"convolution_calls", cost.convolution_calls},
                 {"precision", cost.precision}};
  if (!cost.phase_flops.empty()) object["phase_flops"] = cost.phase_flops;
  put(object, "achieved_flops_per_second", report.achieved_flops_per_second, report.reason);
  put(object, "utilisation", report.utilisation, report.reason);
  return object;
}

json memory_json(const Memory& memory) {
  json object = {{"source", memory.source}};
  put(object, "peak_bytes", memory.peak_bytes, memory.reason);
  return object;
}

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
  return object;
}

json workload_json(const RulesReference& rules) {
  json departures = json::array();
  for (const Departure& departure : rules.departures) {
    departures.push_back(
        {{"path", departure.path}, {"expected", departure.expected}, {"actual", departure.actual}});
  }
  return {{"name", rules.workload},
          {"rules_file", rules.file},
          {"rules_version", rules.version},
          {"rules_sha256", rules.sha256},
          {"tier", rules.tier},
          {"division", rules.division},
          {"departures", std::move(departures)},
          {"mlperf_equivalent", rules.mlperf_equivalent}};
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

template <class T, class ToJson>
json list_json(const std::vector<T>& items, const ToJson& item_json) {
  json list = json::array();
  for (const T& item : items) list.push_back(item_json(item));
  return list;
}

}  // namespace

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

json to_json(const Result& result) {
  json document = {
      {"kind", "run"},
      {"schema_version", kResultSchemaVersion},
      {"notice", kUnverifiedNotice},
      {"identity", identity_json(result.identity)},
      {"workload", workload_json(result.rules)},
      {"settings",
       {{"requested", result.settings.requested}, {"effective", result.settings.effective}}},
      {"kernels", result.kernels},
      {"seeds",
       {{"run", result.seeds.run},
        {"weights", result.seeds.weights},
        {"data_order", result.seeds.data_order},
        {"augmentation", result.seeds.augmentation}}},
      {"weights", list_json(result.weights, artifact_json)},
      {"hyperparameters", result.hyperparameters},
      {"system", result.system},
      {"environment", {{"before", result.environment_before}, {"after", result.environment_after}}},
      {"preparation", result.preparation},
      {"peaks", list_json(result.peaks, peak_json)},
      {"metrics", list_json(result.metrics, metric_json)},
      {"memory", memory_json(result.memory)},
      {"status", status_json(result.status)},
  };
  document["data"] = result.dataset ? artifact_json(*result.dataset) : json();
  if (!result.dataset) document["missing"]["data"] = "no data set was opened";
  document["cost"] = result.cost ? cost_json(*result.cost) : json();
  if (!result.cost) document["missing"]["cost"] = "no cost was computed";
  document["quality"] = result.quality ? quality_json(*result.quality) : json();
  if (!result.quality) document["missing"]["quality"] = "quality was not evaluated";
  clean_for_result(document);
  return document;
}

}  // namespace harness
