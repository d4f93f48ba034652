#include "harness/measure/peak_schedule.hpp"

#include <algorithm>

#include "harness/scenario/step_timer.hpp"
#include "harness/stats/stats.hpp"
#include "harness/system/peaks/sampler.hpp"

namespace harness {
namespace {

constexpr int kLeastBursts = 5;       ///< fewer say nothing about the spread
constexpr double kShareOfRun = 0.05;  ///< of the step time spent so far

}  // namespace

PeakSchedule::PeakSchedule(int threads) : threads_(threads) {}

PeakSchedule::~PeakSchedule() = default;

void PeakSchedule::burst() {
  // Threads and buffers only for runs that get this far.
  if (!sampler_) sampler_ = std::make_unique<PeakSampler>(threads_);
  const double start = steady_seconds();
  sampler_->burst();
  burst_seconds_ += steady_seconds() - start;
  ++bursts_;
}

void PeakSchedule::after_step(double step_seconds) {
  step_seconds_ += step_seconds;
  if (burst_seconds_ <= kShareOfRun * step_seconds_) burst();
}

std::vector<Peak> PeakSchedule::finish() {
  if (bursts_ == 0) return {};
  while (bursts_ < kLeastBursts) burst();
  std::vector<Peak> peaks = sampler_->peaks();
  for (Peak& peak : peaks) {
    if (!peak.reason.empty()) continue;
    peak.reason = peak_doubt(peak.samples);
    if (!peak.reason.empty()) continue;
    peak.value = median_interval(peak.samples);
    peak.bound = *std::max_element(peak.samples.begin(), peak.samples.end());
  }
  return peaks;
}

}  // namespace harness
