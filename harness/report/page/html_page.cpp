// Which sections the page has.
#include "harness/report/page/html_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/report/page/html_ablation.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_findings.hpp"
#include "harness/report/page/html_history.hpp"
#include "harness/report/page/html_profile.hpp"
#include "harness/report/page/html_profile_pairs.hpp"
#include "harness/report/page/html_runs.hpp"
#include "harness/report/page/html_series.hpp"
#include "harness/report/page/html_training.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

/// With more of them the page would no longer show at a glance what it holds.
constexpr std::size_t kMostOpenRuns = 2;

struct Entry {
  ReportLine line{};
  std::string target{};
};

std::vector<Entry> entries_of(const ReportData& data) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < data.runs.size(); ++i) {
    entries.push_back({line_of(data.runs[i]), is_detailed(i, data.runs.size()) ? run_id(i) : ""});
  }
  for (std::size_t i = 0; i < data.ablations.size(); ++i) {
    entries.push_back(
        {line_of(data.ablations[i]), is_detailed(i, data.ablations.size()) ? ablation_id(i) : ""});
  }
  const std::size_t profiles = data.profiles.size();
  for (std::size_t i = 0; i < profiles; ++i) {
    entries.push_back(
        {line_of(data.profiles[i]), is_detailed_profile(i, profiles) ? profile_id(i) : ""});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.line.started_at > b.line.started_at;
  });
  return entries;
}

PageSection summary_section(const ReportData& data) {
  PageSection section;
  section.id = "summary";
  section.title = "Results";
  PageTable table;
  table.caption = "All results, latest first";
  table.columns = {
      {"started (UTC)"},         {"status"},        {"workload"}, {"tier"},   {"stack"}, {"metric"},
      {"headline [95 %]", true}, {"quality", true}, {"machine"},  {"commit"}, {"file"}};
  for (const ReportFile& file : data.rejected) {
    std::vector<PageCell> row(table.columns.size(), PageCell{"-"});
    row[1] = {printable(file.summary), {}, Tone::kBad, "files"};
    row[10] = {printable(file.name)};
    table.rows.push_back(std::move(row));
  }
  for (const Entry& entry : entries_of(data)) {
    const ReportLine& line = entry.line;
    std::string when = line.started_at.substr(0, 16);
    std::replace(when.begin(), when.end(), 'T', ' ');
    table.rows.push_back({{when, {}, Tone::kPlain, entry.target},
                          {line.status, {}, line.tone},
                          {line.workload},
                          {line.tier},
                          {line.stack},
                          {line.headline.name},
                          {line.headline.text, line.headline.value},
                          {line.quality, line.quality_value},
                          {line.machine},
                          {line.commit},
                          {line.file}});
  }
  limit_rows(table);
  section.tables.push_back(std::move(table));
  return section;
}

template <class Count>
PageFact tile(const Count& count, const char* name, Tone tone) {
  return {name, std::to_string(count), count > 0 ? tone : Tone::kPlain};
}

std::vector<PageFact> tiles_of(const ReportData& data) {
  std::size_t valid = 0;
  std::size_t doubtful = 0;
  std::size_t bad = data.rejected.size();
  const auto count = [&](const ResultCommon& result, const ReportFile& file) {
    const Tone tone = status_tone(result.status, file);
    valid += tone == Tone::kGood ? 1 : 0;
    doubtful += tone == Tone::kDoubt ? 1 : 0;
    bad += tone == Tone::kBad ? 1 : 0;
  };
  for (const ReportRun& run : data.runs) count(run.result, run.file);
  for (const ReportAblation& ablation : data.ablations) count(ablation.result, ablation.file);
  for (const ReportProfile& profile : data.profiles) count(profile.result, profile.file);
  return {tile(data.runs.size(), "runs", Tone::kPlain),
          tile(data.ablations.size(), "ablations", Tone::kPlain),
          tile(data.profiles.size(), "profiles", Tone::kPlain),
          tile(valid, "valid", Tone::kGood),
          tile(doubtful, "mistrusted or not complete", Tone::kDoubt),
          tile(bad, "not valid", Tone::kBad)};
}

/// Says so where the section has fewer than all `total` of its kind.
void say_only_latest(PageSection& section, std::size_t total, const char* kind) {
  if (section.parts.size() == total) return;
  section.paragraphs.push_back(fmt::format(
      "Only the latest {} of {} {} have a section here. The table of results lists all.",
      section.parts.size(), total, kind));
}

PageSection runs_section(const ReportData& data) {
  PageSection section;
  section.id = "runs";
  section.title = "Runs";
  for (std::size_t i = data.runs.size(); i-- > 0;) {
    if (!is_detailed(i, data.runs.size())) break;
    section.parts.push_back(run_section(data.runs[i], run_id(i)));
    section.parts.back().open = data.runs.size() <= kMostOpenRuns;
  }
  say_only_latest(section, data.runs.size(), "runs");
  return section;
}

PageSection ablations_section(const ReportData& data) {
  PageSection section;
  section.id = "ablations";
  section.title = "Ablations";
  for (std::size_t i = data.ablations.size(); i-- > 0;) {
    if (!is_detailed(i, data.ablations.size())) break;
    section.parts.push_back(ablation_section(data.ablations[i], ablation_id(i)));
  }
  say_only_latest(section, data.ablations.size(), "ablations");
  return section;
}

PageSection profiles_section(const ReportData& data) {
  PageSection section;
  section.id = "profiles";
  section.title = "Profiles";
  for (std::size_t i = data.profiles.size(); i-- > 0;) {
    if (!is_detailed_profile(i, data.profiles.size())) break;
    section.parts.push_back(profile_section(data.profiles[i], profile_id(i)));
    // Of several the latest is opened: each is long.
    section.parts.back().folded = section.parts.size() > 1;
  }
  say_only_latest(section, data.profiles.size(), "profiles");
  return section;
}

}  // namespace

ReportPage make_page(const ReportData& data) {
  ReportPage page;
  page.subtitle = fmt::format("made {} by {}", utc_now().substr(0, 16) + "Z", version_line());
  page.tiles = tiles_of(data);
  page.sections.push_back(summary_section(data));
  const auto add = [&](PageSection section) {
    const bool has_rows = !section.tables.empty() && !section.tables.front().rows.empty();
    if (has_rows || !section.parts.empty()) page.sections.push_back(std::move(section));
  };
  add(ablations_section(data));
  add(profiles_section(data));
  add(profile_pairs_section(data));
  add(training_section(data));
  add(series_section(data));
  add(history_section(data));
  add(runs_section(data));
  add(findings_section(data));
  add(machines_section(data));
  add(files_section(data));
  return page;
}

}  // namespace harness
