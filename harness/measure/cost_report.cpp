#include "harness/measure/cost_report.hpp"

#include <algorithm>

#include "harness/base/problem.hpp"

namespace harness {

std::optional<double> work_done(const std::vector<KernelChoice>& choices) {
  double needed = 0;
  double done = 0;
  for (const KernelChoice& choice : choices) {
    const auto extents = ConvolutionExtents::parse(choice.problem);
    if (!extents) continue;
    const double flops = static_cast<double>(choice.calls) * extents->flops();
    needed += flops;
    done += choice.work * flops;
  }
  return needed > 0 ? std::optional(done / needed) : std::nullopt;
}

CostReport report_cost(const Cost& cost, const std::optional<double>& step_seconds,
                       const std::vector<Peak>& peaks) {
  CostReport report;
  report.cost = cost;
  if (!step_seconds || *step_seconds <= 0) {
    report.reason = "no timed step";
    return report;
  }
  if (cost.step_flops <= 0) {
    report.reason = "counted in bytes, not in FLOPs";
    return report;
  }
  report.achieved_flops_per_second = cost.step_flops / *step_seconds;
  const auto peak = std::find_if(peaks.begin(), peaks.end(), [&](const Peak& item) {
    return item.tag == "fma." + cost.precision;
  });
  if (peak == peaks.end()) {
    report.reason = "no peak was measured for " + cost.precision;
  } else if (!peak->value) {
    report.reason = "the peak for " + cost.precision + " is unknown: " + peak->reason;
  } else {
    report.utilisation =
        *report.achieved_flops_per_second / peak->bound.value_or(peak->value->center);
  }
  return report;
}

}  // namespace harness
