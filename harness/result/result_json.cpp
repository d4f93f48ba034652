#include "harness/result/result_json.hpp"

#include <utility>

#include "harness/result/common_json.hpp"
#include "harness/result/json_clean.hpp"

namespace harness {
namespace {

using nlohmann::json;

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

json cost_json(const CostReport& report) {
  const Cost& cost = report.cost;
  json object = {{"forward_flops", cost.forward_flops},
                 {"step_flops", cost.step_flops},
                 {"step_bytes", cost.step_bytes},
                 {"calls", cost.calls},
                 {"precision", cost.precision}};
  if (!cost.phase_flops.empty()) object["phase_flops"] = cost.phase_flops;
  if (!cost.phase_bytes.empty()) object["phase_bytes"] = cost.phase_bytes;
  put(object, "achieved_flops_per_second", report.achieved_flops_per_second, report.reason);
  put(object, "utilisation", report.utilisation, report.reason);
  return object;
}

json training_json(const TrainingReport& report) {
  return {{"epochs", report.epochs},
          {"max_epochs", report.max_epochs},
          {"steps", report.steps},
          {"samples", report.samples},
          {"seconds", report.seconds},
          {"target_reached", report.target_reached},
          {"resumed", list_json(report.resumed, resumption_json)}};
}

json memory_json(const Memory& memory) {
  json object = {{"source", memory.source}};
  put(object, "peak_bytes", memory.peak_bytes, memory.reason);
  return object;
}

}  // namespace

json resumption_json(const Resumption& resumption) {
  return {{"epoch", resumption.epoch}, {"steps", resumption.steps}, {"at", resumption.at}};
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

json to_json(const Result& result) {
  json document = common_json(result, "run", kResultSchemaVersion);
  document["kernels"] = result.kernels;
  document["peaks"] = list_json(result.peaks, peak_json);
  document["metrics"] = list_json(result.metrics, metric_json);
  document["memory"] = memory_json(result.memory);
  document["cost"] = result.cost ? cost_json(*result.cost) : json();
  if (!result.cost) document["missing"]["cost"] = "no cost was computed";
  document["quality"] = result.quality ? quality_json(*result.quality) : json();
  if (!result.quality) document["missing"]["quality"] = "quality was not evaluated";
  if (result.training) document["training"] = training_json(*result.training);
  clean_for_result(document);
  return document;
}

}  // namespace harness
