#include "harness/result/cost_json.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/result/common_json.hpp"
#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kPeak(JsonField("tag", &Peak::tag), JsonField("unit", &Peak::unit),
                           JsonField("method", &Peak::method), JsonField("threads", &Peak::threads),
                           JsonField("samples", &Peak::samples));

constexpr JsonFields kCost(JsonField("forward_flops", &Cost::forward_flops),
                           JsonField("step_flops", &Cost::step_flops),
                           JsonField("step_bytes", &Cost::step_bytes),
                           JsonField("precision", &Cost::precision));

// Before 1.3.0 convolutions were all that was counted.
std::map<std::string, std::int64_t> calls_from(const json& object) {
  std::map<std::string, std::int64_t> calls;
  if (object.contains("calls")) return object.at("calls").get_to(calls);
  const std::int64_t convolutions = object.at("convolution_calls");
  if (convolutions > 0) calls.emplace("convolutions", convolutions);
  return calls;
}

}  // namespace

json peak_json(const Peak& peak) {
  json object = kPeak.put(peak);
  object["value"] = peak.value ? interval_json(*peak.value) : json();
  if (!peak.value) object["reason"] = why_missing(peak.reason);
  if (peak.bound) object["bound"] = *peak.bound;
  return object;
}

Peak peak_from(const json& object) {
  Peak peak = kPeak.take(object);
  if (!object.at("value").is_null()) peak.value = interval_from(object.at("value"));
  peak.reason = object.value("reason", "");
  if (object.contains("bound")) peak.bound = object.at("bound").get<double>();
  return peak;
}

json cost_json(const CostReport& report) {
  const Cost& cost = report.cost;
  json object = kCost.put(cost);
  object["calls"] = cost.calls;
  if (!cost.phase_flops.empty()) object["phase_flops"] = cost.phase_flops;
  if (!cost.phase_bytes.empty()) object["phase_bytes"] = cost.phase_bytes;
  put(object, "achieved_flops_per_second", report.achieved_flops_per_second, report.reason);
  put(object, "utilisation", report.utilisation, report.reason);
  if (report.work_done) object["work_done"] = *report.work_done;
  return object;
}

CostReport cost_from(const json& object) {
  CostReport report;
  const std::map<std::string, double> none;
  report.cost = kCost.take(object);
  report.cost.calls = calls_from(object);
  report.cost.phase_flops = object.value("phase_flops", none);
  report.cost.phase_bytes = object.value("phase_bytes", none);
  report.achieved_flops_per_second = optional_of<double>(object, "achieved_flops_per_second");
  report.utilisation = optional_of<double>(object, "utilisation");
  if (object.contains("work_done")) report.work_done = object.at("work_done").get<double>();
  if (!report.utilisation) report.reason = reason_of(object, "utilisation");
  return report;
}

}  // namespace harness
