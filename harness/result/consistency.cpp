#include "harness/result/consistency.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "harness/base/metric_kind.hpp"
#include "harness/base/peak_doubt.hpp"
#include "harness/result/consistency_common.hpp"
#include "harness/result/consistency_metrics.hpp"
#include "harness/result/consistency_times.hpp"
#include "harness/result/consistency_training.hpp"
#include "harness/result/profile.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

using nlohmann::json;

class Finder {
 public:
  explicit Finder(const Result& result) : result_(result) {}

  std::vector<SchemaProblem> find(const json& document) {
    check_common(result_, document, problems_);
    check_metrics(result_, problems_);
    check_times(result_, problems_);
    peaks();
    if (result_.quality) quality(*result_.quality);
    if (result_.cost) cost(*result_.cost);
    check_training(result_, problems_);
    return problems_.take();
  }

 private:
  void peaks() {
    std::set<std::string> tags;
    for (std::size_t i = 0; i < result_.peaks.size(); ++i) {
      const Peak& peak = result_.peaks[i];
      const std::string path = "/peaks/" + std::to_string(i);
      problems_.expect_once(tags, peak.tag, path + "/tag");
      const std::optional<MetricKind> kind = metric_kind(peak.tag);
      problems_.expect(!kind || peak.unit == kind->unit, path + "/unit",
                       fmt::format("'{}', but a peak {} is in '{}'", peak.unit, peak.tag,
                                   kind ? kind->unit : ""));
      problems_.expect(peak.value.has_value() == peak.reason.empty(), path + "/reason",
                       "goes with a value that is null, and only with one");
      if (peak.value) peak_value(peak, path);
    }
  }

  void peak_value(const Peak& peak, const std::string& path) {
    const std::string doubt = peak_doubt(peak.samples);
    problems_.expect(doubt.empty(), path + "/samples", "give no value: " + doubt);
    if (!doubt.empty()) return;
    problems_.expect_same_interval(path + "/value", *peak.value, median_interval(peak.samples));
  }

  void quality(const QualityReport& report) {
    check_quality(report, result_.settings, steps(), "/quality", problems_);
    problems_.expect(result_.status.state != RunState::kValid || report.passed.value_or(true),
                     "/status/state", "valid, although the quality was not reached");
  }

  std::optional<std::int64_t> steps() const {
    if (result_.training) return result_.training->steps;
    const Metric* step = find_metric(result_.metrics, kPlainStep);
    if (step == nullptr) return std::nullopt;
    return std::ssize(step->samples);
  }

  void cost(const CostReport& report) {
    problems_.expect(
        report.cost.step_flops == 0 || report.cost.forward_flops <= report.cost.step_flops,
        "/cost/forward_flops", "is over step_flops, of which it is a part");
    const Metric* step = find_metric(result_.metrics, kPlainStep);
    const bool timed = step != nullptr && step->summary.median && step->summary.median->center > 0;
    const std::optional<double>& achieved = report.achieved_flops_per_second;
    problems_.expect(achieved.has_value() == (timed && report.cost.step_flops > 0),
                     "/cost/achieved_flops_per_second",
                     achieved ? "there, without FLOPs over a step time"
                              : "null, although there are FLOPs and a step time");
    if (!achieved || !timed) return;
    problems_.expect(nearly_equal(*achieved * step->summary.median->center, report.cost.step_flops),
                     "/cost/achieved_flops_per_second",
                     "is not step_flops over the median of time.step");
    utilisation(report, *achieved);
  }

  void utilisation(const CostReport& report, double achieved) {
    const std::string tag = "fma." + report.cost.precision;
    const Peak* peak = nullptr;
    for (const Peak& candidate : result_.peaks) {
      if (candidate.tag == tag && candidate.value) peak = &candidate;
    }
    problems_.expect(
        report.utilisation.has_value() == (peak != nullptr), "/cost/utilisation",
        peak == nullptr ? "there, without a peak " + tag : "null, although there is a peak " + tag);
    if (peak == nullptr || !report.utilisation) return;
    problems_.expect(nearly_equal(*report.utilisation, achieved / peak->value->center),
                     "/cost/utilisation",
                     fmt::format("is not achieved_flops_per_second over the peak {}", tag));
  }

  const Result& result_;
  ProblemList problems_;
};

}  // namespace

std::vector<SchemaProblem> find_inconsistencies(const Result& result, const json& document) {
  return Finder(result).find(document);
}

}  // namespace harness
