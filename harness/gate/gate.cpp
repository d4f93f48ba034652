#include "harness/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/differences.hpp"
#include "harness/gate/sides.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr const char* kQualityTarget = "quality target";

std::vector<double> numbers(const std::map<std::int64_t, double>& values) {
  std::vector<double> list;
  for (const auto& [key, value] : values) list.push_back(value);
  return list;
}

GateRow row_of(const GateColumn& column, const PairedMetric& values,
               const MetricDecision& decision) {
  GateRow row;
  row.tag = column.metric.tag;
  row.unit = column.unit;
  row.group = column.metric.group;
  row.direction = column.direction;
  row.margin = column.metric.margin;
  row.n = decision.pairs;
  row.verdict = decision.verdict;
  if (decision.improvement.center > 0) row.improvement = decision.improvement;
  const auto center = [](std::span<const double> side) {
    return side.empty() ? std::nullopt : std::optional(median(side));
  };
  row.baseline = center(values.base);
  row.candidate = center(values.candidate);
  return row;
}

/// The part that `decision` rests on.
PairedMetric stretch_of(const PairedMetric& values, const MetricDecision& decision) {
  const auto part = [&](const std::vector<double>& side) {
    const auto first = side.begin() + static_cast<std::ptrdiff_t>(decision.first);
    return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(decision.pairs));
  };
  return {part(values.base), part(values.candidate), values.direction, values.margin};
}

/// How many pairs, from the first on, are whole in all columns.
std::int64_t whole_pairs(const std::vector<GateColumn>& columns, GateReport& report) {
  std::set<std::int64_t> all;
  for (const GateColumn& column : columns) {
    for (const auto& [pair, value] : column.baseline) all.insert(pair);
    for (const auto& [pair, value] : column.candidate) all.insert(pair);
  }
  const auto whole = [&](std::int64_t pair) {
    return std::all_of(columns.begin(), columns.end(), [&](const GateColumn& column) {
      return column.baseline.contains(pair) && column.candidate.contains(pair);
    });
  };
  std::int64_t pairs = 0;
  while (whole(pairs + 1)) ++pairs;
  for (const std::int64_t pair : all) {
    if (pair > pairs + 1 && whole(pair)) {
      throw Error(fmt::format("pair {}", pairs + 1), "is incomplete, but later pairs are complete",
                  "a run of the campaign is missing: give all its files");
    }
  }
  if (!all.empty() && *all.rbegin() > pairs) {
    report.notes.push_back(fmt::format("pair {} is incomplete and left out", pairs + 1));
  }
  return pairs;
}

PairedMetric first_pairs(const GateColumn& column, std::int64_t pairs) {
  PairedMetric metric{{}, {}, column.direction, column.metric.margin};
  for (std::int64_t pair = 1; pair <= pairs; ++pair) {
    metric.base.push_back(column.baseline.at(pair));
    metric.candidate.push_back(column.candidate.at(pair));
  }
  return metric;
}

void judge_series(const std::vector<GateColumn>& columns, const GateOptions& options,
                  GateReport& report) {
  for (const GateColumn& column : columns) {
    const PairedMetric metric{numbers(column.baseline), numbers(column.candidate), column.direction,
                              column.metric.margin};
    for (const auto* side : {&metric.base, &metric.candidate}) {
      if (side->size() <= kMostUnpaired) continue;
      throw Error("gate",
                  fmt::format("{} series on a side, {} are the most", side->size(), kMostUnpaired),
                  "give fewer");
    }
    const MetricDecision decision = decide_unpaired(metric, columns.size(), options);
    report.rows.push_back(row_of(column, metric, decision));
    if (report.rows.back().n >= kFewestSeries) continue;
    report.rows.back().note =
        fmt::format("{} series a side are needed, here are {} and {}", kFewestSeries,
                    metric.base.size(), metric.candidate.size());
  }
}

/// Whether the candidate still learns what it is to learn.
void judge_quality(const Side& baseline, const Side& candidate, GateReport& report) {
  const auto judged = [](const Result& run) {
    return missed_target(run.status) || (run.quality && run.quality->passed.has_value());
  };
  std::size_t of_all = 0;
  for (const Side* side : {&baseline, &candidate}) {
    of_all += static_cast<std::size_t>(std::count_if(side->runs.begin(), side->runs.end(), judged));
  }
  if (of_all == 0) return;
  if (of_all < baseline.runs.size() + candidate.runs.size()) {
    throw Error("gate", "some runs checked their quality, others did not",
                "measure all of them with the quality check");
  }
  const auto missed = static_cast<std::size_t>(
      std::count_if(candidate.runs.begin(), candidate.runs.end(), missed_quality));
  const QualityReport first = candidate.runs.front().quality.value_or(QualityReport{});
  GateRow row;
  row.tag = kQualityTarget;
  row.group = GateGroup::kQuality;
  row.direction = first.quality.direction;
  row.n = candidate.runs.size();
  row.verdict = missed > 0 ? Verdict::kRegressed : Verdict::kSame;
  row.note = fmt::format("{}: {} of {} runs of the candidate met their target",
                         printable(first.quality.metric, 60), row.n - missed, row.n);
  report.rows.push_back(std::move(row));
}

void note_mistrust(const Side& side, GateReport& report) {
  const auto count = std::count_if(side.runs.begin(), side.runs.end(),
                                   [](const Result& run) { return run.status.mistrusted; });
  if (count == 0) return;
  const auto first = std::find_if(side.runs.begin(), side.runs.end(),
                                  [](const Result& run) { return run.status.mistrusted; });
  const std::vector<std::string>& reasons = first->status.mistrust_reasons;
  report.notes.push_back(fmt::format("{}: {} of {} mistrusted: {}", printable(side.name), count,
                                     format_count(std::ssize(side.runs), "run"),
                                     reasons.empty() ? "no reason" : printable(reasons.front())));
}

}  // namespace

CampaignDecision judge_pairs(const std::vector<GateColumn>& columns, const GateOptions& options,
                             GateReport& report) {
  const std::int64_t pairs = whole_pairs(columns, report);
  std::vector<PairedMetric> metrics;
  for (const GateColumn& column : columns) metrics.push_back(first_pairs(column, pairs));
  CampaignDecision decision = decide(metrics, options);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const MetricDecision& found = decision.metrics[i];
    GateRow row = row_of(columns[i], stretch_of(metrics[i], found), found);
    if (!decision.finished) {
      row.note = fmt::format("ended after {}, {} were needed for the next look",
                             format_count(pairs, "pair"), decision.pairs_wanted);
    } else if (row.verdict == Verdict::kInconclusive) {
      row.note = fmt::format(
          "too noisy for {} fresh pairs and this margin: more --pairs, a --pause or a quieter "
          "machine",
          found.pairs);
    }
    report.rows.push_back(std::move(row));
  }
  const std::int64_t used =
      decision.finished ? static_cast<std::int64_t>(decision.pairs_wanted) : pairs;
  report.method = fmt::format(
      "{} of runs in turn (ABBA); the first ones explore, only the later ones decide; sign-test "
      "intervals of the median ratio, {:g} % confidence for {} together",
      format_count(used, "pair"), options.confidence * 100,
      format_count(std::ssize(columns), "metric"));
  return decision;
}

GateReport gate_results(const Side& baseline, const Side& candidate, const GateRules& rules,
                        CampaignDecision* decision) {
  GateReport report;
  report.baseline = baseline.name;
  report.candidate = candidate.name;
  check_gate_sides(baseline, candidate, report);
  const Result& first = baseline.runs.front();
  const bool paired = of_one_campaign(baseline, candidate);
  report.subject = fmt::format("{} {}, tier {}", printable(first.rules.workload, 60),
                               printable(first.rules.version, 32), printable(first.rules.tier, 40));
  if (paired) report.campaign = first.identity.campaign->id;
  find_differences(first, candidate.runs.front(), paired, report);
  if (!report.forbidding.empty()) return report;
  const std::vector<GateColumn> columns =
      gate_columns(baseline, candidate, rules.of(first), paired);
  if (columns.empty()) throw Error("gate", "there is no metric to judge", "see rules/gate.json");
  if (paired) {
    const CampaignDecision found = judge_pairs(columns, rules.options, report);
    if (decision != nullptr) *decision = found;
  } else {
    judge_series(columns, rules.options, report);
    report.method = fmt::format(
        "series not run in turn, judged by the spread between them (Hodges and Lehmann's shift, "
        "Mann "
        "and Whitney's exact bounds); {:g} % confidence for {} together, provided that each side's "
        "series are from different hours",
        rules.options.confidence * 100, format_count(std::ssize(columns), "metric"));
  }
  judge_quality(baseline, candidate, report);
  note_mistrust(baseline, report);
  note_mistrust(candidate, report);
  return report;
}

void keep_rows(GateReport& report, const std::vector<std::string>& tags) {
  if (tags.empty() || report.rows.empty()) return;
  std::vector<std::string> known;
  for (const GateRow& row : report.rows) known.push_back(row.tag);
  for (const std::string& tag : tags) {
    if (std::find(known.begin(), known.end(), tag) != known.end()) continue;
    throw Error("--metric '" + printable(tag) + "'", "was not judged", did_you_mean(tag, known));
  }
  std::erase_if(report.rows, [&](const GateRow& row) {
    return row.tag != kQualityTarget && std::find(tags.begin(), tags.end(), row.tag) == tags.end();
  });
}

}  // namespace harness
