#include "harness/compare/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "harness/base/text.hpp"
#include "harness/compare/occasions.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

/// Quality after each epoch; one that is not a number reaches nothing.
std::vector<double> curve_of(const Result& run) {
  std::vector<double> curve;
  const Metric* metric =
      run.quality ? find_metric(run.metrics, "quality." + run.quality->quality.metric) : nullptr;
  if (metric == nullptr) return curve;
  const bool higher = metric->direction != Direction::kLower;
  const double worst = std::numeric_limits<double>::infinity() * (higher ? -1 : 1);
  for (const Sample& sample : metric->samples) curve.push_back(sample.value.value_or(worst));
  return curve;
}

/// Epochs until `target`, or empty.
std::optional<std::size_t> epochs_to(const std::vector<double>& curve, double target, bool higher) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (higher ? curve[i] >= target : curve[i] <= target) return i + 1;
  }
  return std::nullopt;
}

/// On the clock when the evaluation of that epoch was over.
std::optional<double> seconds_at(const Result& run, std::size_t epoch) {
  const Metric* metric = find_metric(run.metrics, "time.elapsed");
  if (metric == nullptr || metric->samples.size() < epoch) return std::nullopt;
  return metric->samples[epoch - 1].value;
}

/// Of some runs of a side: which seed or hour each is of, and its value.
struct Readings {
  std::vector<std::size_t> units{};
  std::vector<double> values{};

  void add(std::size_t unit, double value) {
    units.push_back(unit);
    values.push_back(value);
  }
};

/// Medians and differences of what each side has, one value a unit.
ComparedRow row_of(const std::string& name, const std::string& unit,
                   const std::vector<Readings>& sides, std::size_t fewest) {
  ComparedRow row{name, unit, {}, {}, false, {}};
  std::vector<double> first;
  for (const Readings& side : sides) {
    const std::vector<double> values = occasion_medians(side.units, side.values);
    row.values.push_back(values.empty() ? std::nullopt : std::optional(median_interval(values)));
    if (row.changes.empty()) first = values;
    const bool comparable = !row.changes.empty() && !values.empty() && !first.empty();
    row.changes.push_back(comparable ? std::optional(shift_of(first, values, fewest))
                                     : std::nullopt);
  }
  return row;
}

/// How the runs of a side did against one target.
struct Course {
  Readings epochs{};                  ///< by seed, of the runs that reached it
  Readings seconds{};                 ///< on the clock then, by hour
  std::vector<std::size_t> missed{};  ///< seeds of those that came to their end without it
  std::size_t diverged = 0;           ///< of those: ended before their last epoch
  std::size_t unknown = 0;            ///< stopped at a lower target of their own
  std::int64_t max_epochs = 0;
};

bool reached_own_target(const Result& run) { return run.training && run.training->target_reached; }

bool diverged(const Result& run) {
  return run.training && !run.training->target_reached &&
         run.training->epochs < run.training->max_epochs;
}

Course course_of(const Side& side, double target, bool higher) {
  Course course;
  const std::vector<std::size_t> seeds = seeds_of(side);
  const std::vector<std::size_t> hours = hours_of(side);
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    const Result& run = side.runs[i];
    const std::vector<double> curve = curve_of(run);
    if (run.training) course.max_epochs = std::max(course.max_epochs, run.training->max_epochs);
    if (const auto epoch = epochs_to(curve, target, higher)) {
      course.epochs.add(seeds[i], static_cast<double>(*epoch));
      if (const auto time = seconds_at(run, *epoch)) course.seconds.add(hours[i], *time);
    } else if (reached_own_target(run)) {
      ++course.unknown;
    } else {
      course.missed.push_back(seeds[i]);
      course.diverged += diverged(run) ? 1 : 0;
    }
  }
  return course;
}

/// Epochs with every miss behind all that was reached on any side: how many it would have taken,
/// nobody knows, but it is more.
ComparedRow epochs_row(double target, const std::vector<Course>& courses) {
  double behind_all = 0;
  bool any_missed = false;
  bool same_length = true;
  for (const Course& course : courses) {
    behind_all = std::max(behind_all, static_cast<double>(course.max_epochs + 1));
    any_missed = any_missed || course.missed.size() > course.diverged;
    same_length = same_length && course.max_epochs == courses.front().max_epochs;
  }
  std::vector<Readings> epochs;
  std::map<std::size_t, std::string> notes;
  bool comparable = same_length || !any_missed;
  for (std::size_t i = 0; i < courses.size(); ++i) {
    const Course& course = courses[i];
    const std::size_t missed = course.missed.size();
    const std::size_t runs = course.epochs.values.size() + missed + course.unknown;
    epochs.push_back(course.epochs);
    for (const std::size_t seed : course.missed) epochs.back().add(seed, behind_all);
    std::vector<std::string> remarks;
    if (missed > 0) {
      remarks.push_back(fmt::format("{} of {} never reached it", missed, runs));
    }
    if (course.diverged > 0) remarks.push_back(fmt::format("{} diverged", course.diverged));
    if (course.unknown > 0) {
      remarks.push_back(fmt::format("{} of {} stopped at a target below", course.unknown, runs));
      comparable = false;
    }
    if (!remarks.empty()) notes[i] = join(remarks, ", ");
  }
  ComparedRow row = row_of(fmt::format("epochs to {:.6g}", target), "1", epochs, kFewestSeeds);
  row.notes = std::move(notes);
  for (std::size_t i = 0; i < courses.size(); ++i) {
    // Where most runs missed, their middle is a number that nobody measured.
    const auto most = static_cast<double>(courses[i].max_epochs);
    if (row.values[i] && row.values[i]->center > most) row.values[i].reset();
  }
  if (comparable) return row;
  // Some runs ended where others still had epochs to go: what they would have done is unknown.
  for (auto& change : row.changes) change.reset();
  row.notes[courses.size() - 1] += (row.notes[courses.size() - 1].empty() ? "" : ", ") +
                                   std::string("not comparable: not all were trained as far");
  return row;
}

/// Quality after the last epoch that every run trained which did not diverge.
ComparedRow quality_row(const std::vector<Side>& sides) {
  std::size_t common = std::numeric_limits<std::size_t>::max();
  for (const Side& side : sides) {
    for (const Result& run : side.runs) {
      if (!diverged(run)) common = std::min(common, curve_of(run).size());
    }
  }
  std::vector<Readings> qualities(sides.size());
  std::map<std::size_t, std::string> notes;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::vector<std::size_t> seeds = seeds_of(sides[i]);
    for (std::size_t k = 0; k < seeds.size(); ++k) {
      const Result& run = sides[i].runs[k];
      const std::vector<double> curve = curve_of(run);
      if (!diverged(run) && common > 0 && common <= curve.size() &&
          std::isfinite(curve[common - 1])) {
        qualities[i].add(seeds[k], curve[common - 1]);
      }
    }
    const std::size_t left_out = sides[i].runs.size() - qualities[i].values.size();
    if (left_out > 0) {
      notes[i] = fmt::format("{} of {} diverged and have none", left_out, sides[i].runs.size());
    }
  }
  const bool known = common != std::numeric_limits<std::size_t>::max();
  ComparedRow row = row_of(known ? fmt::format("quality after epoch {}", common) : "final quality",
                           "1", qualities, kFewestSeeds);
  row.notes = std::move(notes);
  return row;
}

}  // namespace

std::vector<ComparedRow> convergence_rows(const std::vector<Side>& sides,
                                          std::optional<double> target) {
  const auto own_target = [](const Result& run) {
    const auto found = run.settings.effective.find("quality_target");
    const bool known = found != run.settings.effective.end() && found->is_number();
    return known ? std::optional(found->get<double>()) : std::nullopt;
  };
  // The hardest of the sides' own targets: those that had an easier one say so.
  bool higher = true;
  for (const Side& side : sides) {
    for (const Result& run : side.runs) {
      if (run.quality) higher = run.quality->quality.direction != Direction::kLower;
    }
  }
  if (!target) {
    for (const Side& side : sides) {
      const std::optional<double> own = own_target(side.runs.front());
      if (own && (!target || (higher ? *own > *target : *own < *target))) target = own;
    }
  }
  if (!target) return {};
  std::vector<Course> courses;
  std::vector<Readings> seconds;
  for (const Side& side : sides) {
    courses.push_back(course_of(side, *target, higher));
    seconds.push_back(courses.back().seconds);
  }
  return {epochs_row(*target, courses), quality_row(sides),
          row_of(fmt::format("time to {:.6g}", *target), "s", seconds, kFewestHours)};
}

}  // namespace harness
