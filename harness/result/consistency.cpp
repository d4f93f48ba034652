#include "harness/result/consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/result_json.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

using nlohmann::json;

// Order statistics come back exactly. The slack is for the binomial distribution and for quotients,
// which another library version may round otherwise.
constexpr double kSlack = 1e-9;

bool close(double a, double b) {
  return std::abs(a - b) <= kSlack * std::max(std::abs(a), std::abs(b));
}

bool close(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || close(*a, *b));
}

std::string shown(const std::optional<double>& value) {
  return value ? number_text(*value) : "null";
}

class Finder {
 public:
  Finder(const Result& result, const json& document) : result_(result), document_(document) {}

  std::vector<SchemaProblem> find() {
    identity();
    division();
    status();
    for (std::size_t i = 0; i < result_.metrics.size(); ++i) {
      metric(result_.metrics[i], "/metrics/" + std::to_string(i));
    }
    for (std::size_t i = 0; i < result_.peaks.size(); ++i) {
      peak(result_.peaks[i], "/peaks/" + std::to_string(i));
    }
    quality();
    if (result_.cost) cost(*result_.cost);
    for (const auto& [key, part] : document_.items()) {
      const std::string path = "/" + pointer_step(key);
      if (part.is_null()) {
        expect(listed(document_, key), path, "null, without a reason in 'missing'");
      } else if (key == "environment") {
        for (const auto& [when, state] : part.items()) {
          nulls(state, fmt::format("{}/{}", path, when), state, "");
        }
      } else if (key != "settings") {
        // Null among the settings is a value of its own: "no such limit or choice".
        nulls(part, path, part, "");
      }
    }
    return std::move(problems_);
  }

 private:
  void expect(bool holds, const std::string& path, std::string reason) {
    if (!holds && problems_.size() < kMostProblems) problems_.push_back({path, std::move(reason)});
  }

  void identity() {
    const Identity& identity = result_.identity;
    expect(identity.run_index <= identity.run_count, "/identity/run_index",
           fmt::format("{} is over run_count {}", identity.run_index, identity.run_count));
    // Both have one fixed form in UTC, so the order of the texts is that of the times.
    expect(identity.started_at <= identity.ended_at, "/identity/ended_at",
           identity.ended_at + " is before started_at " + identity.started_at);
  }

  void division() {
    const RulesReference& rules = result_.rules;
    const bool closed = rules.division == "closed";
    expect(!closed || rules.departures.empty(), "/workload/division",
           "closed, with departures from the rules");
    // Whoever asks for the open division gets it, departures or not.
    const auto asked = result_.settings.requested.find("division");
    expect(closed || !rules.departures.empty() ||
               (asked != result_.settings.requested.end() && *asked == "open"),
           "/workload/division", "open, without a departure and without having asked for it");
    expect(!rules.mlperf_equivalent || closed, "/workload/mlperf_equivalent",
           "true, although the run departs from the rules");
  }

  void status() {
    const Status& status = result_.status;
    if (status.state == RunState::kValid) {
      expect(status.violations.empty(), "/status/state", "valid, with violations listed");
      expect(!result_.quality || result_.quality->passed.value_or(true), "/status/state",
             "valid, although the quality was not reached");
    }
    expect(status.state != RunState::kInvalid || !status.violations.empty(), "/status/state",
           "invalid, without a violation");
    expect(status.mistrusted != status.mistrust_reasons.empty(), "/status/mistrusted",
           status.mistrusted ? "true, without a reason" : "false, with reasons listed");
  }

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
      expect(in_order, at + "/step", "goes back in the order of the steps");
      expect(
          flagged, at + "/warmup",
          fmt::format("{} at step {}, with {} warm-up steps", sample.warmup, sample.step, warmup));
      expect(explained, at + "/reason", "goes with a value that is null, and only with one");
    }
    Metric again = metric;
    summarise(again);
    summary(metric.summary, again.summary, path + "/summary");
  }

  void summary(const Summary& stored, const Summary& computed, const std::string& path) {
    expect(stored.n == computed.n, path + "/n",
           fmt::format("{}, but the samples give {}", stored.n, computed.n));
    const auto same = [&](const char* name, const std::optional<double>& a,
                          const std::optional<double>& b) {
      expect(close(a, b), path + name,
             fmt::format("{}, but the samples give {}", shown(a), shown(b)));
    };
    same("/min", stored.min, computed.min);
    same("/max", stored.max, computed.max);
    same("/p90", stored.p90, computed.p90);
    same("/p99", stored.p99, computed.p99);
    expect(stored.median.has_value() == computed.median.has_value(), path + "/median",
           stored.median ? "there, without samples" : "null, although there are samples");
    if (!stored.median || !computed.median) return;
    same("/median/center", stored.median->center, computed.median->center);
    same("/median/low", stored.median->low, computed.median->low);
    same("/median/high", stored.median->high, computed.median->high);
    same("/median/confidence", stored.median->confidence, computed.median->confidence);
  }

  void peak(const Peak& peak, const std::string& path) {
    expect(peak.value.has_value() == peak.reason.empty(), path + "/reason",
           "goes with a value that is null, and only with one");
    if (!peak.value) return;
    expect(!peak.samples.empty(), path + "/samples", "empty, although there is a value");
    if (peak.samples.empty()) return;
    const double computed = median(peak.samples);
    expect(close(peak.value->center, computed), path + "/value/center",
           fmt::format("{}, but the samples give {}", number_text(peak.value->center),
                       number_text(computed)));
  }

  void quality() {
    if (!result_.quality) return;
    const QualityReport& report = *result_.quality;
    for (std::size_t i = 0; i < report.quality.checks.size(); ++i) {
      const Check& check = report.quality.checks[i];
      const bool passes = check.error && *check.error <= check.tolerance;
      expect(check.passed == passes, fmt::format("/quality/checks/{}/passed", i),
             check.passed ? "true, with an error over the tolerance"
                          : "false, with an error within the tolerance");
    }
    const std::optional<bool> passed = quality_passed(report.quality, report.target);
    const auto text = [](const std::optional<bool>& value) {
      return value ? (*value ? "true" : "false") : "null";
    };
    expect(
        report.passed == passed, "/quality/passed",
        fmt::format("{}, but value, target and checks give {}", text(report.passed), text(passed)));
  }

  void cost(const CostReport& report) {
    const double achieved = report.achieved_flops_per_second.value_or(0);
    if (!report.achieved_flops_per_second) return;
    for (const Metric& metric : result_.metrics) {
      const std::optional<Interval>& step = metric.summary.median;
      if (metric.tag != "time.step" || !step) continue;
      expect(close(achieved * step->center, report.cost.step_flops),
             "/cost/achieved_flops_per_second", "is not step_flops over the median of time.step");
    }
    for (const Peak& candidate : result_.peaks) {
      const std::optional<Interval>& value = candidate.value;
      if (candidate.tag != "fma." + report.cost.precision || !value || !report.utilisation)
        continue;
      const std::optional<double> expected = achieved / value->center;
      expect(close(report.utilisation, expected), "/cost/utilisation",
             fmt::format("is not achieved_flops_per_second over the peak {}", candidate.tag));
    }
  }

  static bool listed(const json& object, const std::string& key) {
    const auto missing = object.find("missing");
    return missing != object.end() && missing->is_object() && missing->contains(key);
  }

  // A null needs its reason: beside it, or under its dotted name with the section's other reasons.
  bool explained(const json& parent, const std::string& key, const json& section,
                 const std::string& dotted) const {
    // A reason is itself null where nothing went wrong.
    return key == "reason" || listed(parent, key) || listed(section, dotted) ||
           (key == "value" && parent.contains("reason"));
  }

  // As deep as the document is nested, which the reader bounds.
  void nulls(const json& value, const std::string& path, const json& section,
             const std::string& dotted) {
    if (!value.is_structured()) return;
    std::size_t index = 0;
    for (auto child = value.begin(); child != value.end(); ++child, ++index) {
      const bool object = value.is_object();
      if (!child->is_structured() && !(object && child->is_null())) continue;
      const std::string name = object ? child.key() : std::to_string(index);
      const std::string child_path = fmt::format("{}/{}", path, pointer_step(name));
      const std::string child_dotted = dotted.empty() ? name : fmt::format("{}.{}", dotted, name);
      if (child->is_structured()) {
        nulls(*child, child_path, section, child_dotted);
      } else {
        expect(explained(value, name, section, child_dotted), child_path,
               "null, without a reason in 'missing'");
      }
    }
  }

  const Result& result_;
  const json& document_;
  std::vector<SchemaProblem> problems_;
};

}  // namespace

std::optional<bool> quality_passed(const Quality& quality, std::optional<double> target) {
  const bool checks = std::all_of(quality.checks.begin(), quality.checks.end(),
                                  [](const Check& check) { return check.passed; });
  if (!checks) return false;
  if (!target) return quality.checks.empty() ? std::nullopt : std::optional(true);
  if (!quality.value) return false;
  return quality.direction == Direction::kLower ? *quality.value <= *target
                                                : *quality.value >= *target;
}

std::vector<SchemaProblem> find_inconsistencies(const Result& result, const json& document) {
  return Finder(result, document).find();
}

}  // namespace harness
