#include "harness/result/consistency_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/base/quality.hpp"
#include "harness/result/consistency_common.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr const char* kPath = "/training";

// Readings of one clock, added up over epochs and over the processes of a run that was resumed.
bool at_most(double part, double whole) { return part <= whole * (1 + 1e-6) + 1e-6; }

class Checker {
 public:
  Checker(const Result& result, ProblemList& problems)
      : result_(result), report_(*result.training), problems_(problems) {}

  void check() {
    limits();
    target();
    metrics();
    clock();
    consumed();
    resumed();
  }

 private:
  static std::string at(const char* member) { return fmt::format("{}/{}", kPath, member); }

  /// Index of the metric of that tag; empty when there is none.
  std::optional<std::size_t> index_of(const std::string& tag) const {
    for (std::size_t i = 0; i < result_.metrics.size(); ++i) {
      if (result_.metrics[i].tag == tag) return i;
    }
    return std::nullopt;
  }

  std::vector<double> values_of(const char* tag) const {
    std::vector<double> values;
    const Metric* metric = find_metric(result_.metrics, tag);
    if (metric == nullptr) return values;
    for (const Sample& sample : metric->samples) values.push_back(sample.value.value_or(NAN));
    return values;
  }

  /// Whether the last epoch came to its end, so that all have as many steps.
  bool whole_epochs() const {
    return report_.epochs > 0 && (report_.target_reached || report_.epochs == report_.max_epochs);
  }

  void limits() {
    problems_.expect(report_.epochs <= report_.max_epochs, at("epochs"),
                     fmt::format("{} is over max_epochs {}", report_.epochs, report_.max_epochs));
    problems_.expect(result_.settings.effective.value("max_epochs", json()) == report_.max_epochs,
                     at("max_epochs"), "is not that of the settings");
    problems_.expect(!whole_epochs() || report_.steps % report_.epochs == 0, at("steps"),
                     fmt::format("{} is no multiple of {} epochs", report_.steps, report_.epochs));
  }

  void target() {
    const bool reached = result_.quality && result_.quality->passed.value_or(false);
    problems_.expect(report_.target_reached == reached, at("target_reached"),
                     fmt::format("{}, but the quality says {}", report_.target_reached, reached));
    if (!result_.quality) return;
    const QualityReport& last = *result_.quality;
    const std::optional<std::size_t> place = index_of("quality." + last.quality.metric);
    if (!place || result_.metrics[*place].samples.empty()) return;
    const std::vector<Sample>& epochs = result_.metrics[*place].samples;
    problems_.expect_same("/quality/value", last.quality.value, epochs.back().value);
    for (std::size_t i = 0; i + 1 < epochs.size(); ++i) {
      Quality then = last.quality;
      then.value = epochs[i].value;
      if (!quality_passed(then, last.target).value_or(false)) continue;
      problems_.expect(false, fmt::format("/metrics/{}/samples/{}/value", *place, i),
                       "reaches the target, but the training went on");
    }
  }

  // Every metric has a sample an epoch, but for those of the whole training.
  void metrics() {
    bool timed = false;
    for (std::size_t i = 0; i < result_.metrics.size(); ++i) {
      const Metric& metric = result_.metrics[i];
      const auto n = static_cast<std::int64_t>(metric.samples.size());
      if (metric.tag == "time.epoch") {
        problems_.expect(n == report_.epochs, at("epochs"),
                         fmt::format("{}, but {} are timed", report_.epochs, n));
      }
      if (n > 0) {
        problems_.expect(metric.samples.back().step <= report_.epochs,
                         fmt::format("/metrics/{}/samples/{}/step", i, n - 1),
                         fmt::format("there are {} epochs", report_.epochs));
      }
      const auto& center = metric.summary.median;
      if (metric.tag == "time.to-quality" && center) {
        timed = true;
        problems_.expect(nearly_equal(center->center, report_.seconds), at("seconds"),
                         "is not the time to quality");
      }
      if (metric.tag == "epochs.to-quality" && center) {
        problems_.expect(nearly_equal(center->center, static_cast<double>(report_.epochs)),
                         at("epochs"), "is not the number of epochs to quality");
      }
    }
    problems_.expect(timed == report_.target_reached, "/metrics",
                     "time.to-quality goes with a target that was reached, and only with one");
  }

  // Steps lie within their epoch, epochs and evaluations one after another on the clock.
  void clock() {
    const std::vector<double> steps = values_of("time.step");
    const std::vector<double> training = values_of("time.epoch");
    const std::vector<double> evaluation = values_of("time.evaluation");
    const std::vector<double> elapsed = values_of("time.elapsed");
    double spent = 0;
    for (std::size_t i = 0; i < training.size(); ++i) {
      if (i < steps.size() && whole_epochs()) {
        const double in_steps = steps[i] * static_cast<double>(report_.steps / report_.epochs);
        expect_within(in_steps, training[i], "time.epoch", i, "its steps took");
      }
      spent += training[i] + (i < evaluation.size() ? evaluation[i] : 0);
      if (i < elapsed.size()) {
        expect_within(spent, elapsed[i], "time.elapsed", i, "the epochs until then took");
      }
    }
    if (!elapsed.empty()) spent = std::max(spent, elapsed.back());
    if (at_most(spent, report_.seconds)) return;
    problems_.expect(false, at("seconds"),
                     fmt::format("{}, but the epochs took {}", report_.seconds, spent));
  }

  void expect_within(double part, double whole, const char* tag, std::size_t epoch,
                     const char* what) {
    if (!(part > 0) || at_most(part, whole)) return;
    problems_.expect(false,
                     fmt::format("/metrics/{}/samples/{}/value", index_of(tag).value_or(0), epoch),
                     fmt::format("{} s, but {} {} s", whole, what, part));
  }

  // Every step consumes as many samples as the throughput over the step time says.
  void consumed() {
    const std::vector<double> steps = values_of("time.step");
    const std::vector<double> rates = values_of("throughput.samples");
    if (rates.empty() || steps.empty()) return;
    const double in_a_step = std::round(rates.front() * steps.front());
    for (std::size_t i = 1; i < std::min(rates.size(), steps.size()); ++i) {
      if (std::round(rates[i] * steps[i]) != in_a_step) return;
    }
    const double all = in_a_step * static_cast<double>(report_.steps);
    if (!std::isfinite(all) || static_cast<double>(report_.samples) == all) return;
    problems_.expect(false, at("samples"),
                     fmt::format("{}, but {} steps of {} samples each make {}", report_.samples,
                                 report_.steps, in_a_step, all));
  }

  void resumed() {
    std::int64_t before = 0;
    for (std::size_t i = 0; i < report_.resumed.size(); ++i) {
      const Resumption& one = report_.resumed[i];
      const std::string path = fmt::format("{}/resumed/{}", kPath, i);
      problems_.expect(one.steps >= before && one.steps <= report_.steps, path + "/steps",
                       fmt::format("{} is not from {} to {}", one.steps, before, report_.steps));
      problems_.expect(one.epoch <= report_.epochs + 1, path + "/epoch",
                       fmt::format("{}, but {} epochs were trained", one.epoch, report_.epochs));
      before = std::max(before, one.steps);
    }
  }

  const Result& result_;
  const TrainingReport& report_;
  ProblemList& problems_;
};

}  // namespace

void check_training(const Result& result, ProblemList& problems) {
  if (result.training) Checker(result, problems).check();
}

}  // namespace harness
