#include "harness/result/step_seconds.hpp"

#include <string>

namespace harness {
namespace {

/// The metric whose unit is a step of the workload's cost; empty: none is.
std::string timed_metric(const Result& result) {
  if (!result.loadgen) return "time.step";
  const std::string& scenario = result.rules.scenario;
  const nlohmann::json& batch = result.settings.effective.value("batch_size", nlohmann::json());
  if (scenario == "offline") return "time.batch";
  // The latency of a server holds the wait, and that of multi-stream is of its own number of
  // samples.
  return scenario == "single-stream" && batch == 1 ? "latency.query" : "";
}

}  // namespace

std::optional<double> step_seconds(const Result& result) {
  const Metric* metric = find_metric(result.metrics, timed_metric(result));
  if (metric == nullptr || !metric->summary.median) return std::nullopt;
  return metric->summary.median->center;
}

}  // namespace harness
