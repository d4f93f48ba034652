#include "harness/kinds/suite/figure.hpp"

#include "harness/base/text.hpp"
#include "harness/scenario/scenario.hpp"

namespace harness {
namespace {

/// What the run's scenario times one by one; null where its scenario is not known here or is
/// LoadGen's.
const Metric* timed_metric(const Result& run) {
  const auto scenario = scenario_infos().find(run.rules.scenario);
  // LoadGen's tests have a figure of its own, or none where they were stopped.
  if (scenario == scenario_infos().end() || scenario->second.by_loadgen) return nullptr;
  return find_metric(run.metrics, scenario->second.metric);
}

}  // namespace

std::optional<Figure> figure_of(const Result& run) {
  if (run.loadgen) {
    const LoadGenFigure& figure = run.loadgen->figure;
    if (figure.value <= 0) return std::nullopt;  // too few queries for an estimate
    return Figure{figure.tag, figure.unit, direction_of(figure), figure.value};
  }
  const Metric* metric = timed_metric(run);
  if (metric == nullptr || !metric->summary.median) return std::nullopt;
  return Figure{metric->tag, metric->unit, metric->direction, metric->summary.median->center};
}

std::vector<LatencyPoint> latencies_of(const Result& run) {
  std::vector<LatencyPoint> points;
  if (run.loadgen) {
    // All of offline's samples are asked for at once: theirs say when in the test each was done.
    if (run.rules.scenario == "offline") return points;
    for (const LatencyPercentile& one : run.loadgen->percentiles) {
      points.push_back({one.percentile, one.seconds});
    }
    return points;
  }
  const Metric* metric = timed_metric(run);
  if (metric == nullptr || metric->unit != "s" || !metric->summary.median) return points;
  const Summary& summary = metric->summary;
  const auto add = [&](double percentile, const std::optional<double>& seconds) {
    if (seconds) points.push_back({percentile, *seconds});
  };
  add(0, summary.min);
  if (summary.quartiles) add(25, summary.quartiles->low);
  add(50, summary.median->center);
  if (summary.quartiles) add(75, summary.quartiles->high);
  add(90, summary.p90);
  add(99, summary.p99);
  add(100, summary.max);
  return points;
}

std::string figure_text(const Figure& figure) {
  return printable(figure.tag, 40) + " " +
         format_quantity(figure.value, printable(figure.unit, 24));
}

}  // namespace harness
