// Collects what steps and epochs say into metrics, in order of first appearance.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/scenario/observer.hpp"

namespace harness {

class MetricTable {
 public:
  MetricTable() = default;
  explicit MetricTable(std::vector<Metric> metrics) : metrics_(std::move(metrics)) {}

  /// Times, throughput, phases, stages and losses of a step, or of an epoch's mean step, which
  /// `per` then says (", mean of an epoch").
  void add(const StepRecord& record, const std::string& per = {});
  /// The tags and families that add() may give.
  static std::vector<std::string> of_steps();
  /// A sample of the metric that `what` describes (tag, unit, direction, description). `value` may
  /// be non-finite: the sample then has a reason instead.
  void put(const Metric& what, std::int64_t step, bool warmup, double value);

  const std::vector<Metric>& metrics() const { return metrics_; }
  std::vector<Metric> take() { return std::move(metrics_); }

 private:
  std::vector<Metric> metrics_;
};

}  // namespace harness
