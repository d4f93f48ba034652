#include "harness/result/consistency_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/metric_kind.hpp"
#include "harness/base/peak_doubt.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

void check_value(const Peak& peak, const std::string& path, ProblemList& problems) {
  const std::string doubt = peak_doubt(peak.samples);
  problems.expect(doubt.empty(), path + "/samples", "give no value: " + doubt);
  if (!doubt.empty()) return;
  problems.expect_same_interval(path + "/value", *peak.value, median_interval(peak.samples));
  const double best = *std::max_element(peak.samples.begin(), peak.samples.end());
  if (peak.bound) problems.expect_same(path + "/bound", peak.bound, best);
}

void check_utilisation(const CostReport& report, double achieved, const std::vector<Peak>& peaks,
                       const std::string& path, ProblemList& problems) {
  const std::string tag = "fma." + report.cost.precision;
  const auto peak = std::find_if(peaks.begin(), peaks.end(), [&](const Peak& candidate) {
    return candidate.tag == tag && candidate.value;
  });
  const bool known = peak != peaks.end();
  problems.expect(report.utilisation.has_value() == known, path,
                  known ? "null, although there is a peak " + tag : "there, without a peak " + tag);
  if (!known || !report.utilisation) return;
  // Before there were bounds, the median took their place.
  const double most = peak->bound.value_or(peak->value->center);
  problems.expect(nearly_equal(*report.utilisation, achieved / most), path,
                  fmt::format("is not achieved_flops_per_second over the peak {}", tag));
}

}  // namespace

void check_peaks(const std::vector<Peak>& peaks, ProblemList& problems) {
  std::set<std::string> tags;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    const Peak& peak = peaks[i];
    const std::string path = "/peaks/" + std::to_string(i);
    problems.expect_once(tags, peak.tag, path + "/tag");
    const std::optional<MetricKind> kind = metric_kind(peak.tag);
    problems.expect(
        !kind || peak.unit == kind->unit, path + "/unit",
        fmt::format("'{}', but a peak {} is in '{}'", peak.unit, peak.tag, kind ? kind->unit : ""));
    problems.expect(peak.value.has_value() == peak.reason.empty(), path + "/reason",
                    "goes with a value that is null, and only with one");
    problems.expect(!peak.bound || peak.value, path + "/bound", "there, without a value");
    if (peak.value) check_value(peak, path, problems);
  }
}

void check_cost(const CostReport& report, const std::optional<double>& step_seconds,
                const std::vector<Peak>& peaks, const std::string& path, ProblemList& problems) {
  const double flops = report.cost.step_flops;
  problems.expect(flops == 0 || report.cost.forward_flops <= flops, path + "/forward_flops",
                  "is over step_flops, of which it is a part");
  const bool timed = step_seconds && *step_seconds > 0;
  const std::optional<double>& achieved = report.achieved_flops_per_second;
  const std::string at = path + "/achieved_flops_per_second";
  problems.expect(achieved.has_value() == (timed && flops > 0), at,
                  achieved ? "there, without FLOPs over a step time"
                           : "null, although there are FLOPs and a step time");
  if (!achieved || !timed) return;
  problems.expect(nearly_equal(*achieved * *step_seconds, flops), at,
                  "is not step_flops over the median step");
  check_utilisation(report, *achieved, peaks, path + "/utilisation", problems);
}

}  // namespace harness
