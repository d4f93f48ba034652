// Which sections the page has.
#include "harness/report/page/html_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/report/page/html_ablation.hpp"
#include "harness/report/page/html_campaign.hpp"
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
  for_each_section(data, [&](const auto& item, const std::string& target) {
    entries.push_back({line_of(item), target});
  });
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.line.started_at > b.line.started_at;
  });
  return entries;
}

PageSection summary_section(const ReportData& data) {
  PageSection section{.id = "summary", .title = "Results"};
  PageTable table{.caption = "All results, latest first"};
  table.columns = {
      {"started (UTC)"},  {"status"},        {"workload"}, {"tier"},   {"stack"}, {"metric"},
      {"headline", true}, {"quality", true}, {"machine"},  {"commit"}, {"file"}};
  table.note =
      "In round brackets the quartiles of a run's samples, its own spread; in square ones a 95 % "
      "interval.";
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
  for_each_section(data, [&](const auto& item, const std::string& /*target*/) {
    const Tone tone = status_tone(item.result.status, item.file);
    valid += tone == Tone::kGood ? 1 : 0;
    doubtful += tone == Tone::kDoubt ? 1 : 0;
    bad += tone == Tone::kBad ? 1 : 0;
  });
  std::vector<PageFact> tiles = {tile(data.runs.size(), "runs", Tone::kPlain),
                                 tile(data.ablations.size(), "ablations", Tone::kPlain),
                                 tile(data.profiles.size(), "profiles", Tone::kPlain),
                                 tile(valid, "valid", Tone::kGood),
                                 tile(doubtful, "mistrusted or not complete", Tone::kDoubt),
                                 tile(bad, "not valid", Tone::kBad)};
  if (!data.campaigns.empty()) {
    tiles.insert(tiles.begin(), tile(data.campaigns.size(), "campaigns", Tone::kPlain));
  }
  return tiles;
}

/// The latest of `items`, by `part`; says so where these are not all.
template <class Item, class Id, class Part>
PageSection latest_section(const ReportData& data, const std::vector<Item>& items, const char* kind,
                           const char* title, const Id& id, const Part& part) {
  PageSection section{.id = kind, .title = title};
  for (std::size_t i = items.size(); i-- > 0 && !id(data, i).empty();) {
    section.parts.push_back(part(items[i], id(data, i)));
  }
  if (section.parts.size() < items.size()) {
    section.paragraphs.push_back(fmt::format(
        "Only the latest {} of {} {} have a section here. The table of results lists all.",
        section.parts.size(), items.size(), kind));
  }
  return section;
}

PageSection runs_section(const ReportData& data) {
  PageSection section = latest_section(data, data.runs, "runs", "Runs", run_id, run_section);
  for (PageSection& part : section.parts) part.open = data.runs.size() <= kMostOpenRuns;
  return section;
}

PageSection ablations_section(const ReportData& data) {
  return latest_section(data, data.ablations, "ablations", "Ablations", ablation_id,
                        ablation_section);
}

PageSection profiles_section(const ReportData& data) {
  PageSection section =
      latest_section(data, data.profiles, "profiles", "Profiles", profile_id, profile_section);
  // Of several the latest is opened: each is long.
  for (PageSection& part : section.parts) part.folded = &part != &section.parts.front();
  return section;
}

}  // namespace

ReportPage make_page(const ReportData& data) {
  ReportPage page;
  page.subtitle = fmt::format("made {} by {}", utc_now().substr(0, 16) + "Z", version_line());
  page.verdicts = verdicts_of(data);
  page.tiles = tiles_of(data);
  const auto add = [&](PageSection section) {
    const bool has_rows = !section.tables.empty() && !section.tables.front().rows.empty();
    if (has_rows || !section.parts.empty()) page.sections.push_back(std::move(section));
  };
  add(campaigns_section(data));
  add(summary_section(data));
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
