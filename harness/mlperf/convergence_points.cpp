#include "harness/mlperf/convergence_points.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/rules_document.hpp"

namespace harness {
namespace {

constexpr double kError = 0.05;
constexpr std::size_t kDropped = 2;  // the fewest and the most

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// As MLPerf's checker: a point that nobody ran counts as twice the runs of a set.
ConvergencePoint between(const ConvergencePoints& points, const ConvergencePoint& below,
                         const ConvergencePoint& above, double batch_size) {
  const double share = (batch_size - below.batch_size) / (above.batch_size - below.batch_size);
  ConvergencePoint point;
  point.batch_size = batch_size;
  point.mean = below.mean + share * (above.mean - below.mean);
  point.deviation = below.deviation + share * (above.deviation - below.deviation);
  point.least = least_mean(point.mean, point.deviation, 2 * points.runs, points.runs);
  return point;
}

}  // namespace

std::filesystem::path standard_convergence_points(const std::filesystem::path& home) {
  return home / "rules" / "mlperf-convergence-5.1.0.json";
}

double mean_without_extremes(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return mean_of({values.begin() + 1, values.end() - 1});
}

double least_mean(double mean, double deviation, std::size_t reference_runs, std::size_t runs) {
  // MLPerf compares the means without the runs that were dropped.
  const auto theirs = static_cast<double>(reference_runs);
  const auto ours = static_cast<double>(runs - kDropped);
  const double freedom = theirs + ours - 2;
  // Of one run a side no deviation is known, so nothing is explained by it.
  if (deviation == 0 || freedom <= 0) return mean;
  const boost::math::students_t_distribution<> student(freedom);
  const double quantile = boost::math::quantile(student, 1 - kError);
  return std::max(0.0, mean - quantile * deviation * std::sqrt(1 / theirs + 1 / ours));
}

std::optional<ConvergencePoint> point_at(const ConvergencePoints& points, double batch_size) {
  const auto above = std::lower_bound(
      points.points.begin(), points.points.end(), batch_size,
      [](const ConvergencePoint& point, double size) { return point.batch_size < size; });
  if (above == points.points.end()) return std::nullopt;
  if (above->batch_size == batch_size) return *above;
  if (above == points.points.begin()) return std::nullopt;
  return between(points, *(above - 1), *above, batch_size);
}

void leave_out_slow_points(ConvergencePoints& points) {
  std::vector<ConvergencePoint>& list = points.points;
  const auto fewest = std::min_element(
      list.begin(), list.end(),
      [](const ConvergencePoint& a, const ConvergencePoint& b) { return a.mean < b.mean; });
  list.erase(list.begin(), fewest);
  // A neighbour to the left is not looked at again: the result is no convex hull, nor is MLPerf's.
  for (std::size_t i = 1; i + 1 < list.size();) {
    const ConvergencePoint line = between(points, list[i - 1], list[i + 1], list[i].batch_size);
    if (list[i].mean > line.mean) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

ConvergencePoints load_convergence_points(const std::filesystem::path& home,
                                          const std::filesystem::path& file) {
  const nlohmann::json document =
      read_rules_document(file, home / "rules" / "mlperf-convergence.schema.json").document;
  ConvergencePoints points;
  points.ruleset = document.at("ruleset");
  points.benchmark = document.at("benchmark");
  points.runs = document.at("runs");
  for (const nlohmann::json& entry : document.at("points")) {
    const auto epochs = entry.at("epochs").get<std::vector<double>>();
    ConvergencePoint& point = points.points.emplace_back();
    point.batch_size = entry.at("global_batch_size");
    point.mean = mean_without_extremes(epochs);
    point.deviation = deviation_of(epochs);
    point.least = least_mean(point.mean, point.deviation, epochs.size() - kDropped, points.runs);
  }
  std::sort(points.points.begin(), points.points.end(),
            [](const ConvergencePoint& a, const ConvergencePoint& b) {
              return a.batch_size < b.batch_size;
            });
  const auto twice = std::adjacent_find(points.points.begin(), points.points.end(),
                                        [](const ConvergencePoint& a, const ConvergencePoint& b) {
                                          return a.batch_size == b.batch_size;
                                        });
  if (twice != points.points.end()) {
    throw Error(printable(file.string()), "has a global batch size twice", "one point for each");
  }
  leave_out_slow_points(points);
  return points;
}

}  // namespace harness
