#include "harness/result/result_json.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/cost_json.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/result/json_fields.hpp"
#include "harness/result/loadgen_json.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kResumption(JsonField("epoch", &Resumption::epoch),
                                 JsonField("steps", &Resumption::steps),
                                 JsonField("at", &Resumption::at));

constexpr JsonFields kTraining(JsonField("epochs", &TrainingReport::epochs),
                               JsonField("max_epochs", &TrainingReport::max_epochs),
                               JsonField("steps", &TrainingReport::steps),
                               JsonField("samples", &TrainingReport::samples),
                               JsonField("seconds", &TrainingReport::seconds),
                               JsonField("target_reached", &TrainingReport::target_reached));

constexpr JsonFields kGradients(JsonField("bytes", &GradientBucket::bytes),
                                JsonField("ready", &GradientBucket::ready));

constexpr JsonFields kChoice(JsonField("operator", &KernelChoice::operation),
                             JsonField("problem", &KernelChoice::problem),
                             JsonField("type", &KernelChoice::type),
                             JsonField("pass", &KernelChoice::pass),
                             JsonField("kernel", &KernelChoice::kernel),
                             JsonField("implementation", &KernelChoice::implementation),
                             JsonField("calls", &KernelChoice::calls),
                             JsonField("work", &KernelChoice::work));

constexpr JsonFields kMetric(JsonField("tag", &Metric::tag), JsonField("unit", &Metric::unit),
                             JsonField("description", &Metric::description),
                             JsonField("warnings", &Metric::warnings));

// A median without bounds is the new form; what an older file holds stays as it is.
json median_json(const Interval& median) {
  json object = interval_json(median);
  if (median.low) return object;
  for (const char* bound : {"low", "high"}) {
    object["missing"][bound] = "samples of one process are not independent; see the quartiles";
  }
  return object;
}

constexpr JsonFields kQuartiles(JsonField("low", &Quartiles::low),
                                JsonField("high", &Quartiles::high));

json summary_json(const Summary& summary) {
  constexpr const char* kNone = "no finite sample after the warm-up";
  const bool any = summary.n > 0;
  json object = {{"n", summary.n}};
  put(object, "median", summary.median, kNone, median_json);
  if (summary.quartiles) object["quartiles"] = kQuartiles.put(*summary.quartiles);
  put(object, "min", summary.min, kNone);
  put(object, "max", summary.max, kNone);
  put(object, "p90", summary.p90, any ? "needs 50 samples" : kNone);
  put(object, "p99", summary.p99, any ? "needs 500 samples" : kNone);
  return object;
}

Summary summary_from(const json& object) {
  Summary summary;
  summary.n = object.at("n");
  if (!object.at("median").is_null()) summary.median = interval_from(object.at("median"));
  if (object.contains("quartiles")) summary.quartiles = kQuartiles.take(object.at("quartiles"));
  summary.min = optional_of<double>(object, "min");
  summary.max = optional_of<double>(object, "max");
  summary.p90 = optional_of<double>(object, "p90");
  summary.p99 = optional_of<double>(object, "p99");
  return summary;
}

json sample_json(const Sample& sample) {
  json object = {{"step", sample.step}, {"warmup", sample.warmup}};
  object["value"] = or_null(sample.value);
  if (!sample.value) object["reason"] = why_missing(sample.reason);
  return object;
}

Sample sample_from(const json& object) {
  return {object.at("step").get<std::int64_t>(), object.at("warmup").get<bool>(),
          optional_of<double>(object, "value"), object.value("reason", "")};
}

json training_json(const TrainingReport& report) {
  json object = kTraining.put(report);
  object["resumed"] = list_json(report.resumed, resumption_json);
  return object;
}

TrainingReport training_from(const json& object) {
  TrainingReport report = kTraining.take(object);
  report.resumed = list_from<Resumption>(object.at("resumed"), resumption_from_json);
  return report;
}

json memory_json(const Memory& memory) {
  json object = {{"source", memory.source}};
  put(object, "peak_bytes", memory.peak_bytes, memory.reason);
  return object;
}

Memory memory_from(const json& object) {
  Memory memory = {optional_of<double>(object, "peak_bytes"), object.at("source"), ""};
  if (!memory.peak_bytes) memory.reason = reason_of(object, "peak_bytes");
  return memory;
}

Result read_document(const json& document) {
  Result result;
  read_common(document, result);
  result.kernels = document.at("kernels").get<KernelSet>();
  if (document.contains("choices")) {
    result.choices = list_from<KernelChoice>(document.at("choices"), kChoice);
  }
  if (document.contains("gradients")) {
    result.gradients = list_from<GradientBucket>(document.at("gradients"), kGradients);
  }
  result.peaks = list_from<Peak>(document.at("peaks"), peak_from);
  result.metrics = list_from<Metric>(document.at("metrics"), metric_from_json);
  result.memory = memory_from(document.at("memory"));
  if (!document.at("cost").is_null()) result.cost = cost_from(document.at("cost"));
  if (!document.at("quality").is_null()) {
    result.quality = quality_from(document.at("quality"));
    const json none = json::object();
    document.at("quality").value("details", none).get_to(result.quality->quality.details);
  }
  if (document.contains("training")) result.training = training_from(document.at("training"));
  if (document.contains("loadgen")) result.loadgen = loadgen_from(document.at("loadgen"));
  if (document.contains("world")) result.world = world_from_json(document.at("world"));
  if (result.rules.scenario.empty()) {
    result.rules.scenario = default_scenario(result.training.has_value());
  }
  return result;
}

/// Those that are numbers; where there are none, nothing.
void put_details(json& quality, const std::map<std::string, double>& details) {
  for (const auto& [name, value] : details) {
    if (std::isfinite(value)) quality["details"][name] = value;
  }
}

}  // namespace

json resumption_json(const Resumption& resumption) {
  json object = kResumption.put(resumption);
  if (resumption.ranks > 0) object["ranks"] = resumption.ranks;
  return object;
}

Resumption resumption_from_json(const json& object) {
  Resumption resumption = kResumption.take(object);
  resumption.ranks = object.value("ranks", std::int64_t{0});
  return resumption;
}

json metric_json(const Metric& metric) {
  json object = kMetric.put(metric);
  object["direction"] = to_text(metric.direction);
  object["summary"] = summary_json(metric.summary);
  object["samples"] = list_json(metric.samples, sample_json);
  return object;
}

Metric metric_from_json(const json& object) {
  Metric metric = kMetric.take(object);
  metric.direction = direction_from(object.at("direction"));
  metric.samples = list_from<Sample>(object.at("samples"), sample_from);
  metric.summary = summary_from(object.at("summary"));
  // Before 1.7.0 files did not say them; they hold all samples.
  const std::vector<double> values = summarised_values(metric);
  if (!metric.summary.quartiles && metric.summary.median && !values.empty()) {
    metric.summary.quartiles = quartiles(values);
  }
  return metric;
}

json to_json(const Result& result) {
  json document = common_json(result, "run", kResultSchemaVersion);
  document["kernels"] = result.kernels;
  if (!result.choices.empty()) document["choices"] = list_json(result.choices, kChoice);
  if (!result.gradients.empty()) {
    document["gradients"] = list_json(result.gradients, kGradients);
  }
  document["peaks"] = list_json(result.peaks, peak_json);
  document["metrics"] = list_json(result.metrics, metric_json);
  document["memory"] = memory_json(result.memory);
  put(document, "cost", result.cost, "no cost was computed", cost_json);
  put(document, "quality", result.quality, "quality was not evaluated", quality_json);
  if (result.quality) put_details(document["quality"], result.quality->quality.details);
  if (result.training) document["training"] = training_json(*result.training);
  if (result.loadgen) document["loadgen"] = loadgen_json(*result.loadgen);
  if (result.world) document["world"] = world_json(*result.world);
  clean_for_result(document);
  return document;
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
