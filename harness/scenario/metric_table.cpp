#include "harness/scenario/metric_table.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/metric_kind.hpp"

namespace harness {

void MetricTable::add(const StepRecord& record, const std::string& per) {
  const auto add = [&](const std::string& tag, const std::string& description, double value) {
    put(standard_metric(tag, description + per), record.step, record.warmup, value);
  };
  if (record.recorded) {
    add("time.recorded_step", "wall time of one step that was recorded: slower than it would be",
        record.seconds);
    return;
  }
  add("time.step", "wall time of one step", record.seconds);
  if (record.samples > 0) {
    add("throughput.samples", "training samples consumed per second of step time",
        static_cast<double>(record.samples) / record.seconds);
  }
  double accounted = 0;
  for (const auto& [name, seconds] : record.phases) {
    add("time.phase." + name, "part of the step spent in " + name, seconds);
    accounted += seconds;
  }
  if (!record.phases.empty()) {
    add("time.phase.other", "part of the step outside every phase", record.seconds - accounted);
  }
  for (const auto& [name, seconds] : record.stages) {
    add("time.stage." + name, "part of the kernels' work in the step, as they measure it: " + name,
        seconds);
  }
  for (const auto& [name, loss] : record.losses) {
    add("loss." + name, "training loss: " + name, loss);
  }
}

std::vector<std::string> MetricTable::of_steps() {
  return {"time.step", "throughput.samples", "time.phase.", "time.stage.", "loss."};
}

void MetricTable::put(const Metric& what, std::int64_t step, bool warmup, double value) {
  auto metric = std::find_if(metrics_.begin(), metrics_.end(),
                             [&](const Metric& known) { return known.tag == what.tag; });
  if (metric == metrics_.end()) metric = metrics_.insert(metric, what);
  Sample sample{step, warmup, std::nullopt, ""};
  if (std::isfinite(value)) {
    sample.value = value;
  } else {
    sample.reason = std::isnan(value) ? "not a number" : value > 0 ? "infinite" : "-infinite";
  }
  metric->samples.push_back(std::move(sample));
}

}  // namespace harness
