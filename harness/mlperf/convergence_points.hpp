// MLPerf's reference convergence points: in how many epochs the reference reaches the target at a
// global batch size, and how few of a set of runs are still believed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace harness {

/// Epochs until the target at one global batch size.
struct ConvergencePoint {
  double batch_size = 0;
  double mean = 0;       ///< without the fewest and the most
  double deviation = 0;  ///< of all runs
  double least = 0;      ///< fewest epochs, as the mean of a set, that chance explains
};

struct ConvergencePoints {
  std::string ruleset{};
  std::string benchmark{};
  std::size_t runs = 5;                    ///< in a set
  std::vector<ConvergencePoint> points{};  ///< by batch size, at least one
};

/// The file of the points that logs are held against, where none else is asked for.
std::filesystem::path standard_convergence_points(const std::filesystem::path& home);

/// Reads `file` and checks it against rules/mlperf-convergence.schema.json below `home`; points
/// that others show to be too slow are left out. Throws Error that names the path and the reason.
ConvergencePoints load_convergence_points(const std::filesystem::path& home,
                                          const std::filesystem::path& file);

/// The mean of all values but the smallest and the largest. Precondition: at least three.
double mean_without_extremes(std::vector<double> values);

/// The lowest mean of `runs` runs that a one-sided test of Student at 5 % does not call faster than
/// `reference_runs` of that mean, with the same deviation on both sides; not below 0.
double least_mean(double mean, double deviation, std::size_t reference_runs, std::size_t runs);

/// What a batch size is held against: the point there, or one between its neighbours on a straight
/// line; nothing outside of all points.
std::optional<ConvergencePoint> point_at(const ConvergencePoints& points, double batch_size);

/// Leaves out, as MLPerf's checker does, the points below the batch size with the fewest epochs,
/// and then, from small to large, those above the line between their neighbours. Points are sorted.
void leave_out_slow_points(ConvergencePoints& points);

}  // namespace harness
