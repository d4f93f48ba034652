#include "harness/scenario/loadgen/what_failed.hpp"

#include <fmt/format.h>

#include <cmath>

namespace harness::loadgen {
namespace {

// By how much both clocks may differ over a test: slewing is allowed 0.05 %.
constexpr double kClockGrain = 2e-3;
constexpr double kClockDrift = 1e-3;

}  // namespace

double latency_of(const TestLog& log, const TestPlan& plan) {
  const std::string at = fmt::format("result_{:.2f}_percentile_latency_ns", plan.percentile);
  return log.number(at).value_or(0) * 1e-9;
}

bool was_too_fast(const TestLog& log, const TestPlan& plan) {
  if (log.number("result_perf_constraints_met") == 0.0) return true;
  // Early stopping asks for more than the percentile itself: what is too fast fails that first. It
  // fails for want of queries too, and where none was late a lower rate would bring only fewer.
  const double slowest = log.number("result_max_latency_ns").value_or(0) * 1e-9;
  return log.number("early_stopping_met") == 0.0 && slowest > plan.latency_bound;
}

bool ended_early(const TestLog& log) { return log.number("result_min_duration_met") == 0.0; }

std::string moved_clock(const TestClock& clock) {
  if (std::abs(clock.loadgen - clock.steady) <= kClockGrain + kClockDrift * clock.steady) return {};
  return fmt::format(
      "the clock was set while it ran: {:.3f} s by the time of day, {:.3f} s by the monotonic "
      "clock",
      clock.loadgen, clock.steady);
}

}  // namespace harness::loadgen
