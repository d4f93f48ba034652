#include "harness/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/compare/convergence.hpp"
#include "harness/compare/occasions.hpp"
#include "harness/compare/set_up.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

using nlohmann::json;

[[noreturn]] void not_comparable(const std::string& what, const std::string& why,
                                 const std::string& hint) {
  throw Error(printable(what), why, hint, ExitCode::kInconclusive);
}

void check_side(const Side& side, std::set<std::string>& uuids) {
  if (side.runs.empty()) throw Error(printable(side.name), "holds no result of a run");
  if (side.runs.size() > kMostUnpaired) {
    throw Error(
        printable(side.name),
        fmt::format("{} runs, {} are the most a side may have", side.runs.size(), kMostUnpaired),
        "give fewer");
  }
  for (const Result& run : side.runs) {
    const std::string who = fmt::format("{}, run {}", side.name, run.identity.uuid.substr(0, 8));
    if (run.status.state == RunState::kDryRun) {
      not_comparable(who, "a dry run is no measurement", "leave it out");
    }
    if (!uuids.insert(run.identity.uuid).second) {
      not_comparable(who, "is there twice", "a run says nothing when compared with itself");
    }
    if (was_stopped(run.status)) not_comparable(who, "was stopped before its end", "leave it out");
    if (run.rules.workload != side.runs.front().rules.workload ||
        set_up_of(run) != set_up_of(side.runs.front())) {
      not_comparable(who, "has another set-up than the side's first run",
                     "give each set-up a folder of its own");
    }
  }
}

/// What makes a side's numbers doubtful; empty when nothing does.
std::string doubts_of(const Side& side) {
  std::size_t invalid = 0;
  std::size_t missed = 0;
  std::size_t mistrusted = 0;
  std::size_t resumed = 0;
  for (const Result& run : side.runs) {
    invalid += run.status.state == RunState::kInvalid ? 1 : 0;
    missed += missed_target(run.status) ? 1 : 0;
    mistrusted += run.status.mistrusted ? 1 : 0;
    resumed += run.training && !run.training->resumed.empty() ? 1 : 0;
  }
  std::vector<std::string> doubts;
  if (invalid > 0) doubts.push_back(fmt::format("{} INVALID", invalid));
  if (missed > 0) doubts.push_back(fmt::format("{} missed the target", missed));
  if (mistrusted > 0) doubts.push_back(fmt::format("{} mistrusted", mistrusted));
  if (resumed > 0) doubts.push_back(fmt::format("{} resumed", resumed));
  return join(doubts, ", ");
}

/// The median of a metric in each hour in which a run has one.
std::vector<double> hour_medians(const Side& side,
                                 const std::function<std::optional<double>(const Result&)>& value) {
  const std::vector<std::size_t> hours = hours_of(side);
  std::vector<std::size_t> present;
  std::vector<double> values;
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    if (const std::optional<double> one = value(side.runs[i])) {
      present.push_back(hours[i]);
      values.push_back(*one);
    }
  }
  return occasion_medians(present, values);
}

/// What these sides lack for a verdict.
std::string what_is_missing(const std::vector<Side>& sides, bool training) {
  std::vector<std::string> hours;
  std::vector<std::string> seeds;
  for (const Side& side : sides) {
    const std::string name = printable(side.name, 80);
    if (count_occasions(hours_of(side)) < kFewestHours) {
      hours.push_back(fmt::format("{} has {}", name, hours_text(side)));
    }
    const std::size_t drawn = count_occasions(seeds_of(side));
    if (training && drawn < kFewestSeeds) seeds.push_back(fmt::format("{} has {}", name, drawn));
  }
  std::vector<std::string> missing;
  if (!hours.empty()) {
    missing.push_back(
        fmt::format("No verdict on performance: each side needs runs from {} hours; {}. Runs of "
                    "one series, and "
                    "of series that began within an hour, count once.",
                    kFewestHours, join(hours, ", ")));
  }
  if (!seeds.empty()) {
    missing.push_back(fmt::format("No verdict on convergence: each side needs {} seeds; {}.",
                                  kFewestSeeds, join(seeds, ", ")));
  }
  return join(missing, " ");
}

ComparedRow row_of(const std::string& name, const std::string& unit, const std::vector<Side>& sides,
                   const std::function<std::optional<double>(const Result&)>& value) {
  ComparedRow row{name, unit, {}, {}, true, {}};
  std::vector<std::vector<double>> logarithms;
  for (const Side& side : sides) {
    const std::vector<double> values = hour_medians(side, value);
    row.values.push_back(values.empty() ? std::nullopt : std::optional(median_interval(values)));
    std::vector<double> logs;
    for (const double one : values) {
      if (one > 0) logs.push_back(std::log(one));
    }
    const std::size_t hours = count_occasions(hours_of(side));
    if (!logs.empty() && logs.size() < kFewestHours && hours >= kFewestHours) {
      row.notes[row.values.size() - 1] =
          fmt::format("no verdict: {} of {} have it, {} are the fewest", logs.size(),
                      format_count(static_cast<long long>(hours), "hour"), kFewestHours);
    }
    logarithms.push_back(std::move(logs));
    if (row.changes.empty() || logarithms.front().empty() || logarithms.back().empty()) {
      row.changes.push_back(std::nullopt);
      continue;
    }
    Interval change = shift_of(logarithms.front(), logarithms.back(), kFewestHours);
    change.center = std::exp(change.center);
    if (change.low) change.low = std::exp(*change.low);
    if (change.high) change.high = std::exp(*change.high);
    row.changes.push_back(change);
  }
  return row;
}

std::vector<ComparedRow> metric_rows(const std::vector<Side>& sides) {
  std::vector<ComparedRow> rows;
  std::set<std::string> seen;
  // What a scenario is for comes first.
  for (const Side& side : sides) {
    const auto& loadgen = side.runs.front().loadgen;
    if (!loadgen || !seen.insert(loadgen->figure.tag).second) continue;
    const std::string tag = loadgen->figure.tag;
    rows.push_back(
        row_of(tag, loadgen->figure.unit, sides, [&](const Result& run) -> std::optional<double> {
          if (!run.loadgen || run.loadgen->figure.tag != tag) return std::nullopt;
          const double value = run.loadgen->figure.value;
          return value > 0 ? std::optional(value) : std::nullopt;  // its log may have none
        }));
  }
  for (const Side& side : sides) {
    for (const Metric& metric : side.runs.front().metrics) {
      // What has no better side is no performance; qualities stand with the convergence.
      if (metric.direction == Direction::kNone || metric.tag.starts_with("quality.") ||
          metric.tag.ends_with(".to-quality") || !seen.insert(metric.tag).second) {
        continue;
      }
      rows.push_back(row_of(metric.tag, metric.unit, sides,
                            [&](const Result& run) { return median_of(run.metrics, metric.tag); }));
    }
  }
  rows.push_back(row_of(
      "throughput a thread", "samples/s", sides, [](const Result& run) -> std::optional<double> {
        const auto all = median_of(run.metrics, "throughput.samples");
        const json threads = run.settings.effective.value("threads", json());
        if (!all || !threads.is_number() || threads == 0) return std::nullopt;
        return *all / threads.get<double>() / run.settings.effective.value("ranks", 1.0);
      }));
  rows.push_back(row_of("throughput a GB/s", "samples/s", sides,
                        [](const Result& run) -> std::optional<double> {
                          const auto all = median_of(run.metrics, "throughput.samples");
                          const auto copying = peak_of(run.peaks, "copy.bandwidth");
                          if (!all || !copying) return std::nullopt;
                          return *all / (*copying / 1e9);
                        }));
  rows.push_back(
      row_of("share of the copying", "1", sides, [](const Result& run) -> std::optional<double> {
        const auto step = median_of(run.metrics, "time.step");
        const auto copying = peak_of(run.peaks, "copy.bandwidth");
        if (!step || !copying || !run.cost || run.cost->cost.step_bytes <= 0) {
          return std::nullopt;
        }
        return run.cost->cost.step_bytes / *step / *copying;
      }));
  rows.push_back(
      row_of("share of the peak", "1", sides, [](const Result& run) -> std::optional<double> {
        if (!run.cost) return std::nullopt;
        // Files before 1.6.0 hold a share of the usual state: the same measure for all.
        const std::optional<double>& achieved = run.cost->achieved_flops_per_second;
        const auto peak = peak_of(run.peaks, "fma." + run.cost->cost.precision);
        return achieved && peak ? std::optional(*achieved / *peak) : run.cost->utilisation;
      }));
  rows.push_back(
      row_of("peak memory", "B", sides, [](const Result& run) { return run.memory.peak_bytes; }));
  // Beside the speed; by how much it differs says nothing, the rules judge it. That of training
  // stands with its convergence.
  ComparedRow quality =
      row_of("quality", "1", sides, [](const Result& run) -> std::optional<double> {
        return run.quality && !run.training ? run.quality->quality.value : std::nullopt;
      });
  quality.changes.assign(sides.size(), std::nullopt);
  quality.notes.clear();
  rows.push_back(std::move(quality));
  std::erase_if(rows, [](const ComparedRow& row) {
    return std::none_of(row.values.begin(), row.values.end(),
                        [](const auto& value) { return value.has_value(); });
  });
  return rows;
}

/// Its set-up, and its length: no other work, but percentiles and spreads depend on it.
std::map<std::string, std::string> facts_of(const Result& run) {
  std::map<std::string, std::string> facts = set_up_of(run);
  facts["division"] = run.rules.division;
  for (const char* const length : {"min_seconds", "min_steps"}) {
    facts[length] = run.settings.effective.value(length, json()).dump();
  }
  return facts;
}

}  // namespace

Comparison compare_sides(const std::vector<Side>& sides, std::optional<double> target) {
  Comparison comparison;
  const Result* first = nullptr;
  std::set<std::string> uuids;
  for (const Side& side : sides) {
    check_side(side, uuids);
    const Result& run = side.runs.front();
    if (first == nullptr) first = &run;
    if (run.rules.workload != first->rules.workload) {
      not_comparable(side.name,
                     fmt::format("measures {}, {} measures {}", run.rules.workload,
                                 sides.front().name, first->rules.workload),
                     "compare results of one workload");
    }
    if (run.rules.sha256 != first->rules.sha256 || run.rules.tier != first->rules.tier) {
      not_comparable(side.name, "was made under other rules than " + sides.front().name,
                     "compare results of one tier and one version of the rules");
    }
    if (run.rules.scenario != first->rules.scenario) {
      not_comparable(side.name,
                     fmt::format("is of scenario {}, {} of {}", run.rules.scenario,
                                 sides.front().name, first->rules.scenario),
                     "their figures count other things: compare results of one scenario");
    }
    comparison.names.push_back(side.name);
    comparison.runs.push_back(side.runs.size());
    comparison.hours.push_back(count_occasions(hours_of(side)));
    comparison.doubts.push_back(doubts_of(side));
    const std::string apart = apart_text(sides.front(), side);
    if (!apart.empty()) comparison.notes.push_back(apart);
  }
  comparison.workload =
      fmt::format("{} {}, tier {}", first->rules.workload, first->rules.version, first->rules.tier);
  std::vector<std::map<std::string, std::string>> set_ups;
  std::set<std::string> facts;
  for (const Side& side : sides) {
    set_ups.push_back(facts_of(side.runs.front()));
    for (const auto& [name, value] : set_ups.back()) facts.insert(name);
  }
  for (const std::string& name : facts) {
    std::vector<std::string> values;
    for (const auto& set_up : set_ups) {
      const auto found = set_up.find(name);
      values.push_back(found == set_up.end() ? "absent" : found->second);
    }
    const bool same = std::all_of(values.begin(), values.end(), [&](const std::string& value) {
      return value == values.front();
    });
    if (!same) comparison.differences.emplace(name, std::move(values));
  }
  comparison.rows = metric_rows(sides);
  comparison.missing = what_is_missing(sides, first->training.has_value());
  if (first->training) comparison.convergence = convergence_rows(sides, target);
  return comparison;
}

}  // namespace harness
