#include "harness/result/consistency_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/base/utc.hpp"
#include "harness/result/consistency_common.hpp"
#include "harness/result/profile.hpp"

namespace harness {
namespace {

using nlohmann::json;

// Clocks are slewed by up to 0.05 %; a file holds whole milliseconds.
constexpr double kClockDrift = 0.01;
constexpr double kClockGrain = 0.1;

/// Of a metric: its samples one after another, looked up by ascending steps.
class Cursor {
 public:
  explicit Cursor(const Metric& metric) : samples_(metric.samples) {}

  /// The place of the sample of `step`; empty when there is none.
  std::optional<std::size_t> find(std::int64_t step) {
    while (at_ < samples_.size() && samples_[at_].step < step) ++at_;
    if (at_ == samples_.size() || samples_[at_].step != step) return std::nullopt;
    return at_;
  }

 private:
  const std::vector<Sample>& samples_;
  std::size_t at_ = 0;
};

class Checker {
 public:
  Checker(const Result& result, ProblemList& problems) : result_(result), problems_(problems) {}

  void check() {
    const Metric* step = find_metric(result_.metrics, kPlainStep);
    if (step != nullptr) {
      phases(*step);
      for (std::size_t i = 0; i < result_.metrics.size(); ++i) {
        if (result_.metrics[i].tag == "throughput.samples") throughput(*step, i);
      }
    }
    if (!result_.training) numbered(step);
    check_duration(result_, measured_seconds(), problems_);
  }

 private:
  static std::string value_path(std::size_t metric, std::size_t sample) {
    return fmt::format("/metrics/{}/samples/{}/value", metric, sample);
  }

  // Together with what lies outside of them they make the step.
  void phases(const Metric& step) {
    std::vector<double> sums(step.samples.size());
    std::vector<double> rounding(step.samples.size(), kClockRounding);
    std::optional<std::size_t> rest;
    for (std::size_t i = 0; i < result_.metrics.size(); ++i) {
      const Metric& phase = result_.metrics[i];
      if (!phase.tag.starts_with("time.phase.")) continue;
      if (phase.tag == "time.phase.other") rest = i;
      Cursor steps(step);
      for (std::size_t k = 0; k < phase.samples.size(); ++k) {
        const Sample& part = phase.samples[k];
        const std::optional<std::size_t> place = steps.find(part.step);
        if (!place) {
          problems_.expect(false, fmt::format("/metrics/{}/samples/{}/step", i, k),
                           fmt::format("no step {} was timed", part.step));
          continue;
        }
        const double whole = step.samples[*place].value.value_or(NAN);
        sums[*place] += part.value.value_or(NAN);
        rounding[*place] += kClockRounding;
        if (!(part.value.value_or(0) > whole * (1 + 1e-9) + kClockRounding)) continue;
        problems_.expect(false, value_path(i, k),
                         fmt::format("{} s, longer than its step of {} s", *part.value, whole));
      }
    }
    if (!rest) return;
    const Metric& other = result_.metrics[*rest];
    Cursor steps(step);
    for (std::size_t k = 0; k < other.samples.size(); ++k) {
      const std::optional<std::size_t> place = steps.find(other.samples[k].step);
      if (!place) continue;
      const double whole = step.samples[*place].value.value_or(NAN);
      // What is not finite was told of already, and compares as neither.
      if (std::abs(sums[*place] - whole) > 1e-9 * std::abs(whole)) {
        problems_.expect(false, value_path(*rest, k),
                         fmt::format("the phases of step {} add up to {} s, the step took {} s",
                                     other.samples[k].step, sums[*place], whole));
      }
      if (other.samples[k].value.value_or(0) < -rounding[*place]) {
        problems_.expect(false, value_path(*rest, k),
                         "below 0: the phases together are longer than their step");
      }
    }
  }

  // Samples are whole, and a step consumes at least one.
  void throughput(const Metric& step, std::size_t i) {
    const Metric& metric = result_.metrics[i];
    Cursor steps(step);
    for (std::size_t k = 0; k < metric.samples.size(); ++k) {
      const Sample& sample = metric.samples[k];
      const std::optional<std::size_t> place = steps.find(sample.step);
      if (!sample.value || !place || !step.samples[*place].value) continue;
      const double consumed = *sample.value * *step.samples[*place].value;
      const double whole = std::max(1.0, std::round(consumed));
      if (std::abs(consumed - whole) <= 1e-9 * whole) continue;
      problems_.expect(
          false, value_path(i, k),
          fmt::format("{} samples in a step: it is no whole number over the step time", consumed));
    }
  }

  // Steps are numbered from 1, and none is left out.
  void numbered(const Metric* step) {
    std::size_t timed = 0;
    std::int64_t last = 0;
    for (const Metric* metric : {step, find_metric(result_.metrics, kRecordedStep)}) {
      if (metric == nullptr || metric->samples.empty()) continue;
      timed += metric->samples.size();
      last = std::max(last, metric->samples.back().step);
    }
    problems_.expect(
        static_cast<std::int64_t>(timed) == last, "/metrics",
        fmt::format("{} steps are timed, but the last one has the number {}", timed, last));
  }

  double measured_seconds() const {
    if (result_.training) return result_.training->seconds;
    double seconds = 0;
    for (const char* tag : {kPlainStep, kRecordedStep}) {
      const Metric* metric = find_metric(result_.metrics, tag);
      if (metric == nullptr) continue;
      for (const Sample& sample : metric->samples) seconds += sample.value.value_or(0);
    }
    return seconds;
  }

  const Result& result_;
  ProblemList& problems_;
};

/// What the monotonic clock says that lay between both looks at the environment; 0 when unknown. A
/// run that was resumed may have begun before the machine was started.
double monotonic_seconds(const ResultCommon& common) {
  const auto at = [](const json& environment) {
    const auto found = environment.find("monotonic_seconds");
    return found != environment.end() && found->is_number() ? found->get<double>() : NAN;
  };
  const double seconds = at(common.environment_after) - at(common.environment_before);
  return std::isfinite(seconds) ? std::max(0.0, seconds) : 0;
}

}  // namespace

void check_duration(const ResultCommon& common, double seconds, ProblemList& problems) {
  for (const auto& [name, value] : common.preparation.items()) {
    if (name.ends_with("_seconds") && value.is_number()) seconds += value.get<double>();
  }
  const Identity& identity = common.identity;
  const double by_date = utc_seconds(identity.ended_at).value_or(INFINITY) -
                         utc_seconds(identity.started_at).value_or(0);
  // A clock that was set while the run went on spoils one of the two.
  const double lasted = std::max(by_date, monotonic_seconds(common));
  if (seconds <= lasted * (1 + kClockDrift) + kClockGrain) return;
  problems.expect(
      false, "/identity/ended_at",
      fmt::format("the run lasted {} s, but preparation and steps took {} s", lasted, seconds));
}

void check_times(const Result& result, ProblemList& problems) { Checker(result, problems).check(); }

}  // namespace harness
