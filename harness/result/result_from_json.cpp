#include "harness/result/result_from_json.hpp"

#include <cstdint>
#include <map>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_from_json.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

Sample sample_from(const json& object) {
  return {object.at("step").get<std::int64_t>(), object.at("warmup").get<bool>(),
          optional_of<double>(object, "value"), object.value("reason", "")};
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

// Before 1.3.0 convolutions were all that was counted.
std::map<std::string, std::int64_t> calls_from(const json& object) {
  std::map<std::string, std::int64_t> calls;
  if (object.contains("calls")) return object.at("calls").get_to(calls);
  const std::int64_t convolutions = object.at("convolution_calls");
  if (convolutions > 0) calls.emplace("convolutions", convolutions);
  return calls;
}

CostReport cost_from(const json& object) {
  CostReport report;
  const std::map<std::string, double> none;
  report.cost = {object.at("forward_flops"),       object.at("step_flops"),
                 object.at("step_bytes"),          calls_from(object),
                 object.at("precision"),           object.value("phase_flops", none),
                 object.value("phase_bytes", none)};
  report.achieved_flops_per_second = optional_of<double>(object, "achieved_flops_per_second");
  report.utilisation = optional_of<double>(object, "utilisation");
  if (!report.utilisation) report.reason = reason_of(object, "utilisation");
  return report;
}

TrainingReport training_from(const json& object) {
  return {object.at("epochs"),
          object.at("max_epochs"),
          object.at("steps"),
          object.at("samples"),
          object.at("seconds"),
          object.at("target_reached"),
          list_from<Resumption>(object.at("resumed"), resumption_from_json)};
}

Result read_document(const json& document) {
  Result result;
  read_common(document, result);
  result.kernels = document.at("kernels").get<KernelSet>();
  result.peaks = list_from<Peak>(document.at("peaks"), peak_from);
  result.metrics = list_from<Metric>(document.at("metrics"), metric_from_json);
  const json& memory = document.at("memory");
  result.memory = {optional_of<double>(memory, "peak_bytes"), memory.at("source"), ""};
  if (!result.memory.peak_bytes) result.memory.reason = reason_of(memory, "peak_bytes");
  if (!document.at("cost").is_null()) result.cost = cost_from(document.at("cost"));
  if (!document.at("quality").is_null()) result.quality = quality_from(document.at("quality"));
  if (document.contains("training")) result.training = training_from(document.at("training"));
  if (result.rules.scenario.empty()) {
    result.rules.scenario = default_scenario(result.training.has_value());
  }
  return result;
}

}  // namespace

Resumption resumption_from_json(const json& object) {
  return {object.at("epoch"), object.at("steps"), object.at("at")};
}

Metric metric_from_json(const json& object) {
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

Result result_from_json(const json& document) {
  try {
    return read_document(document);
  } catch (const json::exception& error) {
    throw Error("result", "does not fit the schema: " + printable(error.what()),
                "harness validate FILE names each problem", ExitCode::kInvalid);
  }
}

}  // namespace harness
