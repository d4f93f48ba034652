#include "harness/result/consistency_metrics.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

#include "harness/base/metric_kind.hpp"
#include "harness/base/text.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/consistency_common.hpp"
#include "harness/result/profile.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

// By what a sum of rounded parts may fall short: the part of a step outside of every phase.
constexpr const char* kRest = "time.phase.other";

class Checker {
 public:
  Checker(const Result& result, ProblemList& problems) : result_(result), problems_(problems) {
    warmup_ = result.settings.effective.value("warmup_steps", std::int64_t{0});
  }

  void check() {
    std::set<std::string> tags;
    for (std::size_t i = 0; i < result_.metrics.size(); ++i) {
      const Metric& metric = result_.metrics[i];
      const std::string path = "/metrics/" + std::to_string(i);
      problems_.expect_once(tags, metric.tag, path + "/tag");
      kind(metric, path);
      samples(metric, path);
      Metric again = metric;
      summarise(again);
      // Before 1.7.0 a median had the bounds that independent samples would give.
      const std::optional<Interval>& median = metric.summary.median;
      if (median && again.summary.median && median->low && median->high) {
        again.summary.median = median_interval(summarised_values(metric));
      }
      summary(metric.summary, again.summary, path + "/summary");
      // Their wording may change from version to version, their number does not.
      problems_.expect(metric.warnings.size() >= again.warnings.size(), path + "/warnings",
                       "does not say: " + join(again.warnings, "; "));
    }
  }

 private:
  void kind(const Metric& metric, const std::string& path) {
    const std::optional<MetricKind> kind = metric_kind(metric.tag);
    if (!kind) return;
    problems_.expect(
        kind->unit.empty() || metric.unit == kind->unit, path + "/unit",
        fmt::format("'{}', but a metric {} is in '{}'", metric.unit, metric.tag, kind->unit));
    std::optional<Direction> direction = kind->direction;
    if (metric.tag.starts_with("quality.") && result_.quality) {
      direction = result_.quality->quality.direction;
    }
    if (!direction) return;
    problems_.expect(metric.direction == *direction, path + "/direction",
                     fmt::format("'{}', but that of {} is '{}'", to_text(metric.direction),
                                 metric.tag, to_text(*direction)));
  }

  void samples(const Metric& metric, const std::string& path) {
    const bool time = metric.tag.starts_with("time.") && metric.tag != kRest;
    const bool whole_step = metric.tag == kPlainStep || metric.tag == kRecordedStep;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < metric.samples.size(); ++i) {
      const Sample& sample = metric.samples[i];
      // The path is only worth making for a sample that is wrong: there may be a million.
      const bool in_order = sample.step > last;
      const bool flagged = sample.warmup == (sample.step <= warmup_);
      const bool explained = sample.value.has_value() == sample.reason.empty();
      const bool possible =
          !time || !sample.value || *sample.value > 0 || (*sample.value == 0 && !whole_step);
      last = sample.step;
      if (in_order && flagged && explained && possible) continue;
      const std::string at = path + "/samples/" + std::to_string(i);
      problems_.expect(in_order, at + "/step",
                       "goes back in the order of the steps, or is there twice");
      problems_.expect(
          flagged, at + "/warmup",
          fmt::format("{} at step {}, with {} warm-up steps", sample.warmup, sample.step, warmup_));
      problems_.expect(explained, at + "/reason",
                       "goes with a value that is null, and only with one");
      problems_.expect(possible, at + "/value",
                       fmt::format("{} s: {}", number_text(sample.value.value_or(0)),
                                   whole_step ? "every step takes time" : "no time is below 0"));
    }
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
    problems_.expect_same_interval(path + "/median", *stored.median, *computed.median);
    if (!stored.quartiles || !computed.quartiles) return;
    problems_.expect_same(path + "/quartiles/low", stored.quartiles->low, computed.quartiles->low);
    problems_.expect_same(path + "/quartiles/high", stored.quartiles->high,
                          computed.quartiles->high);
  }

  const Result& result_;
  ProblemList& problems_;
  std::int64_t warmup_ = 0;
};

}  // namespace

void check_metrics(const Result& result, ProblemList& problems) {
  Checker(result, problems).check();
}

}  // namespace harness
