#include "harness/result/consistency.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "harness/result/canonical_json.hpp"
#include "harness/result/consistency_common.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

using nlohmann::json;

class Finder {
 public:
  explicit Finder(const Result& result) : result_(result) {}

  std::vector<SchemaProblem> find(const json& document) {
    check_common(result_, document, problems_);
    for (std::size_t i = 0; i < result_.metrics.size(); ++i) {
      metric(result_.metrics[i], "/metrics/" + std::to_string(i));
    }
    for (std::size_t i = 0; i < result_.peaks.size(); ++i) {
      peak(result_.peaks[i], "/peaks/" + std::to_string(i));
    }
    if (result_.quality) quality(*result_.quality);
    if (result_.cost) cost(*result_.cost);
    if (result_.training) training(*result_.training);
    return problems_.take();
  }

 private:
  void metric(const Metric& metric, const std::string& path) {
    const std::int64_t warmup = result_.settings.effective.value("warmup_steps", std::int64_t{0});
    std::int64_t last = 0;
    for (std::size_t i = 0; i < metric.samples.size(); ++i) {
      const Sample& sample = metric.samples[i];
      // The path is only worth making for a sample that is wrong: there may be a million.
      const bool in_order = sample.step >= last;
      const bool flagged = sample.warmup == (sample.step <= warmup);
      const bool explained = sample.value.has_value() == sample.reason.empty();
      last = sample.step;
      if (in_order && flagged && explained) continue;
      const std::string at = path + "/samples/" + std::to_string(i);
      problems_.expect(in_order, at + "/step", "goes back in the order of the steps");
      problems_.expect(
          flagged, at + "/warmup",
          fmt::format("{} at step {}, with {} warm-up steps", sample.warmup, sample.step, warmup));
      problems_.expect(explained, at + "/reason",
                       "goes with a value that is null, and only with one");
    }
    Metric again = metric;
    summarise(again);
    summary(metric.summary, again.summary, path + "/summary");
  }

  void summary(const Summary& stored, const Summary& computed, const std::string& path) {
    problems_.expect(stored.n == computed.n, path + "/n",
                     fmt::format("{}, but the samples give {}", stored.n, computed.n));
    problems_.expect_same(path + "/min", stored.min, computed.min);
    problems_.expect_same(path + "/max", stored.max, computed.max);
    problems_.expect_same(path + "/p90", stored.p90, computed.p90);
    problems_.expect_same(path + "/p99", stored.p99, computed.p99);
    problems_.expect(stored.median.has_value() == computed.median.has_value(), path + "/median",
                     stored.median ? "there, without samples" : "null, although there are samples");
    if (!stored.median || !computed.median) return;
    problems_.expect_same(path + "/median/center", stored.median->center, computed.median->center);
    problems_.expect_same_bounds(path + "/median", *stored.median, *computed.median);
  }

  void peak(const Peak& peak, const std::string& path) {
    problems_.expect(peak.value.has_value() == peak.reason.empty(), path + "/reason",
                     "goes with a value that is null, and only with one");
    if (!peak.value) return;
    problems_.expect(!peak.samples.empty(), path + "/samples", "empty, although there is a value");
    if (peak.samples.empty()) return;
    const double computed = median(peak.samples);
    problems_.expect(nearly_equal(peak.value->center, computed), path + "/value/center",
                     fmt::format("{}, but the samples give {}", number_text(peak.value->center),
                                 number_text(computed)));
  }

  void quality(const QualityReport& report) {
    check_quality(report, result_.settings, "/quality", problems_);
    problems_.expect(result_.status.state != RunState::kValid || report.passed.value_or(true),
                     "/status/state", "valid, although the quality was not reached");
  }

  void training(const TrainingReport& report) {
    const std::string path = "/training";
    problems_.expect(report.epochs <= report.max_epochs, path + "/epochs",
                     fmt::format("{} is over max_epochs {}", report.epochs, report.max_epochs));
    problems_.expect(result_.settings.effective.value("max_epochs", json()) == report.max_epochs,
                     path + "/max_epochs", "is not that of the settings");
    const bool reached = result_.quality && result_.quality->passed.value_or(false);
    problems_.expect(report.target_reached == reached, path + "/target_reached",
                     fmt::format("{}, but the quality says {}", report.target_reached, reached));
    bool timed = false;
    for (const Metric& metric : result_.metrics) {
      const auto n = static_cast<std::int64_t>(metric.samples.size());
      if (metric.tag == "time.epoch") {
        problems_.expect(n == report.epochs, path + "/epochs",
                         fmt::format("{}, but {} are timed", report.epochs, n));
      }
      const auto& center = metric.summary.median;
      if (metric.tag == "time.to-quality" && center) {
        timed = true;
        problems_.expect(nearly_equal(center->center, report.seconds), path + "/seconds",
                         "is not the time to quality");
      }
      if (metric.tag == "epochs.to-quality" && center) {
        problems_.expect(nearly_equal(center->center, static_cast<double>(report.epochs)),
                         path + "/epochs", "is not the number of epochs to quality");
      }
    }
    problems_.expect(timed == report.target_reached, "/metrics",
                     "time.to-quality goes with a target that was reached, and only with one");
  }

  void cost(const CostReport& report) {
    const double achieved = report.achieved_flops_per_second.value_or(0);
    if (!report.achieved_flops_per_second) return;
    for (const Metric& metric : result_.metrics) {
      const std::optional<Interval>& step = metric.summary.median;
      if (metric.tag != "time.step" || !step) continue;
      problems_.expect(nearly_equal(achieved * step->center, report.cost.step_flops),
                       "/cost/achieved_flops_per_second",
                       "is not step_flops over the median of time.step");
    }
    for (const Peak& candidate : result_.peaks) {
      const std::optional<Interval>& value = candidate.value;
      if (candidate.tag != "fma." + report.cost.precision || !value || !report.utilisation)
        continue;
      problems_.expect(
          nearly_equal(*report.utilisation, achieved / value->center), "/cost/utilisation",
          fmt::format("is not achieved_flops_per_second over the peak {}", candidate.tag));
    }
  }

  const Result& result_;
  ProblemList problems_;
};

}  // namespace

std::vector<SchemaProblem> find_inconsistencies(const Result& result, const json& document) {
  return Finder(result).find(document);
}

}  // namespace harness
