#include "harness/report/page/html_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/gate/narrowing.hpp"
#include "harness/gate/report.hpp"
#include "harness/gate/row_text.hpp"
#include "harness/report/page/html_facts.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostCampaigns = 20;
constexpr std::size_t kMostJudged = 10;
constexpr std::size_t kMostFunnels = 12;
constexpr std::size_t kMostNotes = 10;
constexpr std::size_t kSentenceBytes = 600;
constexpr std::size_t kCommandBytes = 4000;

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
    case Verdict::kFaster:
      return Tone::kGood;
    case Verdict::kRegressed:
      return Tone::kBad;
    case Verdict::kInconclusive:
      break;
  }
  return Tone::kDoubt;
}

Tone tone_of(const GateRow& row) {
  const bool quiet = row.alarm_only && row.verdict == Verdict::kInconclusive;
  return quiet ? Tone::kPlain : tone_of(row.verdict);
}

Tone tone_of(const ReportCampaign& campaign) {
  if (!campaign.ended) return Tone::kDoubt;
  switch (exit_code(campaign.report, false)) {
    case ExitCode::kOk:
      return Tone::kGood;
    case ExitCode::kRegression:
      return Tone::kBad;
    default:
      return Tone::kDoubt;
  }
}

std::string id_of(std::size_t campaign) { return fmt::format("campaign-{}", campaign + 1); }

std::string word_of(const ReportCampaign& campaign) {
  return campaign.ended ? overall_word(campaign.report) : "no verdict";
}

/// What is known of the campaign's rows: the verdict's, or how far each had come.
std::vector<GateRow> shown_rows(const ReportCampaign& campaign) {
  std::vector<GateRow> rows = rows_by_weight(campaign.report);
  if (campaign.ended) return rows;
  for (GateRow& row : rows) {
    if (row.improvements.empty()) continue;
    row.improvement = narrowed(row.improvements, row.exact).improvement;
    row.n = row.improvements.size();
  }
  return rows;
}

std::string sentence_of(const ReportCampaign& campaign) {
  if (campaign.ended) return printable(verdict_sentence(campaign.report), kSentenceBytes);
  const std::vector<GateRow> rows = shown_rows(campaign);
  std::string text = "The campaign did not come to its end";
  if (rows.empty() || rows.front().improvements.empty()) return text + ".";
  const GateRow& first = campaign.report.rows.front();
  const NarrowingStep so_far = narrowed(first.improvements, first.exact);
  GateRow row = first;
  row.improvement = so_far.improvement;
  return text + fmt::format(
                    " and has no verdict. So far, after {}: {} {} times as good.",
                    format_count(static_cast<long long>(so_far.n), unit_of(first, campaign.report)),
                    printable(row.tag, kNameBytes), improvement_text(row));
}

/// Whether its ratio fits on a scale about 1.
bool drawable(const GateRow& row) {
  return row.improvement && row.margin > 0 && row.margin < 1 && row.improvement->center > 0;
}

PageJudged judged(const GateRow& row, bool ended) {
  PageJudged one;
  one.name = printable(row.tag, kNameBytes);
  one.word = ended ? verdict_word(row) : "so far";
  one.tone = ended ? tone_of(row) : Tone::kPlain;
  one.text = row.improvement ? improvement_text(row) : printable(row.note, 120);
  if (row.margin > 0) one.text += fmt::format(", margin {:g} %", row.margin * 100);
  if (!drawable(row)) return one;
  one.margin = row.margin;
  one.center = plotted(row.improvement->center);
  if (row.improvement->low) one.low = plotted(*row.improvement->low);
  if (row.improvement->high) one.high = plotted(*row.improvement->high);
  return one;
}

/// How far the funnel's picture reaches from 1, as a factor: what the looks and the last interval
/// span, and the margins. What early clusters say by chance may lie beyond.
double reach_of(const GateRow& row, const std::vector<NarrowingStep>& steps) {
  constexpr double kMargins = 3;
  double reach = std::pow(1 + row.margin, kMargins);
  const auto include = [&](const Interval& interval) {
    for (const auto& value : {std::optional(interval.center), interval.low, interval.high}) {
      if (value) reach = std::max({reach, *value, 1 / *value});
    }
  };
  for (const RowLook& look : row.looks) include(look.improvement);
  if (!steps.empty()) include(steps.back().improvement);
  return std::min(reach * 1.02, kLargestPlotted);
}

PlotPoint funnel_point(std::size_t n, const Interval& interval, double reach, const char* what) {
  const auto within = [&](double value) { return plotted(std::clamp(value, 1 / reach, reach)); };
  PlotPoint point{static_cast<double>(n), within(interval.center)};
  if (interval.low && interval.high) {
    point.low = within(*interval.low);
    point.high = within(*interval.high);
  }
  GateRow row;
  row.improvement = interval;
  point.label = fmt::format("{} {}: {}", what, n, improvement_text(row));
  return point;
}

PagePlot funnel(const GateReport& report, const GateRow& row, bool ended) {
  const std::string name = printable(row.tag, kNameBytes);
  const std::vector<NarrowingStep> steps = narrowing(row.improvements, row.exact);
  const double reach = reach_of(row, steps);
  PagePlot plot{.title = "Funnel of " + name};
  plot.x.label = printable(unit_of(row, report), 20) + "s so far";
  plot.y.label = "times as good";
  PlotSeries so_far{"so far, 95 % of each by itself", PlotStyle::kLine, 0, {}};
  for (const NarrowingStep& step : steps) {
    so_far.points.push_back(funnel_point(step.n, step.improvement, reach, "after"));
  }
  PlotSeries looks{
      "at a look of the plan, errors of all looks included", PlotStyle::kPoints, 1, {}};
  for (const RowLook& look : row.looks) {
    looks.points.push_back(funnel_point(look.n, look.improvement, reach, "look at"));
    looks.points.back().label += fmt::format(", {}", to_text(look.verdict));
  }
  // What decides lies on top.
  plot.series = {std::move(looks), std::move(so_far)};
  drop_empty_series(plot);
  plot.marks.push_back({1, "", true});
  if (row.margin > 0) {
    plot.marks.push_back(
        {plotted(1 + row.margin), fmt::format("margin {:g} %", row.margin * 100), true});
    plot.marks.push_back({plotted(1 / (1 + row.margin)), "", true});
  }
  for (std::size_t i = 0; i < row.looks.size(); ++i) {
    plot.marks.push_back(
        {static_cast<double>(row.looks[i].n), fmt::format("look {}", i + 1), false});
  }
  plot.description = fmt::format(
      "{}: {}, margin {:g} %. Above 1 is better. The interval after each {} is for the eye; only "
      "the looks decide.",
      name, ended ? verdict_word(row) : "no verdict", row.margin * 100,
      printable(unit_of(row, report), 20));
  return plot;
}

PageTable rows_table(const ReportCampaign& campaign) {
  PageTable table{.caption = campaign.ended ? "What was judged" : "How far it came"};
  table.columns = {{"metric"},  {"verdict"},        {"times as good", true}, {"margin", true},
                   {"n", true}, {"baseline", true}, {"candidate", true},     {"remarks"}};
  for (const GateRow& row : shown_rows(campaign)) {
    const PageJudged one = judged(row, campaign.ended);
    PageCell ratio{improvement_text(row)};
    if (row.improvement) ratio.key = row.improvement->center;
    table.rows.push_back({{one.name},
                          {one.word, {}, one.tone},
                          ratio,
                          {row.margin > 0 ? fmt::format("{:g} %", row.margin * 100) : "-"},
                          count_cell(row.n),
                          {value_text(row, row.baseline), row.baseline},
                          {value_text(row, row.candidate), row.candidate},
                          {printable(campaign.ended ? remarks(row) : row.note, 400)}});
  }
  limit_rows(table);
  return table;
}

std::vector<PageFact> facts_of(const ReportCampaign& campaign) {
  const GateReport& report = campaign.report;
  std::vector<PageFact> facts = {{"verdict", word_of(campaign), tone_of(campaign)}};
  const auto add = [&](const char* name, const std::string& value, std::size_t most) {
    if (!value.empty()) facts.push_back({name, printable(value, most)});
  };
  const auto add_differences = [&](const char* name, const std::vector<GateDifference>& list) {
    for (const GateDifference& one : list) {
      add(name, one.name + ": " + one.baseline + " | " + one.candidate, kSentenceBytes);
    }
  };
  add("baseline", report.baseline, kCommandBytes);
  add("candidate", report.candidate, kCommandBytes);
  add_differences("differs", report.differences);
  add_differences("forbids a comparison", report.forbidding);
  add("method", report.method, kSentenceBytes);
  const std::size_t shown = std::min(report.notes.size(), kMostNotes);
  for (std::size_t i = 0; i < shown; ++i) add("note", report.notes[i], kSentenceBytes);
  if (shown < report.notes.size()) {
    add("note", fmt::format("and {} more", report.notes.size() - shown), kSentenceBytes);
  }
  add("campaign", report.campaign, 80);
  add("folder", campaign.folder, 400);
  return facts;
}

PageSection campaign_part(const ReportCampaign& campaign, const std::string& id) {
  PageSection part{
      .id = id,
      .title = fmt::format("{}: {}", printable(campaign.report.subject, 200), word_of(campaign))};
  part.tone = tone_of(campaign);
  part.paragraphs = {sentence_of(campaign)};
  part.facts = facts_of(campaign);
  for (const GateRow& row : campaign.report.rows) {
    const bool narrows = row.improvements.size() > 1 && row.margin > 0 &&
                         std::any_of(row.improvements.begin(), row.improvements.end(),
                                     [&](double one) { return one != row.improvements.front(); });
    if (!narrows || part.plots.size() >= kMostFunnels) continue;
    part.plots.push_back(funnel(campaign.report, row, campaign.ended));
  }
  part.tables.push_back(rows_table(campaign));
  return part;
}

}  // namespace

std::vector<PageVerdict> verdicts_of(const ReportData& data) {
  std::vector<PageVerdict> verdicts;
  for (std::size_t i = 0; i < std::min(data.campaigns.size(), kMostCampaigns); ++i) {
    const ReportCampaign& campaign = data.campaigns[i];
    PageVerdict verdict;
    verdict.word = word_of(campaign);
    verdict.tone = tone_of(campaign);
    verdict.subject = printable(campaign.report.subject, 200);
    verdict.sentence = sentence_of(campaign);
    verdict.target = id_of(i);
    const std::vector<GateRow> rows = shown_rows(campaign);
    for (const GateRow& row : rows) {
      if (verdict.rows.size() >= kMostJudged) break;
      verdict.rows.push_back(judged(row, campaign.ended));
    }
    if (rows.size() > verdict.rows.size()) {
      verdict.more = fmt::format("and {} more rows", rows.size() - verdict.rows.size());
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

PageSection campaigns_section(const ReportData& data) {
  PageSection section{.id = "campaigns", .title = "Campaigns"};
  for (std::size_t i = 0; i < std::min(data.campaigns.size(), kMostCampaigns); ++i) {
    section.parts.push_back(campaign_part(data.campaigns[i], id_of(i)));
    // Of several those are open that somebody has to look at.
    section.parts.back().folded = data.campaigns.size() > 1;
    section.parts.back().open = section.parts.back().tone != Tone::kGood;
  }
  if (section.parts.size() < data.campaigns.size()) {
    section.paragraphs.push_back(fmt::format("Only the first {} of {} campaigns are shown.",
                                             kMostCampaigns, data.campaigns.size()));
  }
  return section;
}

}  // namespace harness
