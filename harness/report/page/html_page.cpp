// Which sections the page has.
#include "harness/report/page/html_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/report/page/html_campaign.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_findings.hpp"
#include "harness/report/page/html_results.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/shown_kind.hpp"

namespace harness {
namespace {

template <class Count>
PageFact tile(const Count& count, const std::string& name, Tone tone) {
  return {name, std::to_string(count), count > 0 ? tone : Tone::kPlain};
}

std::vector<PageFact> tiles_of(const ReportData& data) {
  std::size_t valid = 0;
  std::size_t doubtful = 0;
  std::size_t bad = data.rejected.size();
  for_each_section(data, [&](const ReportItem& item, const std::string& /*target*/) {
    const Tone tone = status_tone(item.result->status, item.file);
    valid += tone == Tone::kGood ? 1 : 0;
    doubtful += tone == Tone::kDoubt ? 1 : 0;
    bad += tone == Tone::kBad ? 1 : 0;
  });
  std::vector<PageFact> tiles;
  for (const ReportGroup& group : data.groups) {
    const std::vector<PageFact> own = group.kind->tiles(data);
    tiles.insert(tiles.end(), own.begin(), own.end());
  }
  if (!data.campaigns.empty()) {
    tiles.push_back(tile(data.campaigns.size(), "campaigns", Tone::kPlain));
  }
  for (const ReportGroup& group : data.groups) {
    tiles.push_back(tile(group.items.size(), group.kind->plural(), Tone::kPlain));
  }
  tiles.push_back(tile(valid, "valid", Tone::kGood));
  tiles.push_back(tile(doubtful, "mistrusted or not complete", Tone::kDoubt));
  tiles.push_back(tile(bad, "not valid", Tone::kBad));
  return tiles;
}

/// The sections of the latest of a kind; says so where these are not all.
PageSection latest_section(const ReportGroup& group) {
  const std::string name = group.kind->plural();
  PageSection section{.id = name, .title = name};
  section.title.front() = static_cast<char>(std::toupper(section.title.front()));
  for (std::size_t i = group.items.size(); i-- > 0 && !section_id(group, i).empty();) {
    section.parts.push_back(group.kind->section(group.items[i], section_id(group, i)));
  }
  if (section.parts.size() < group.items.size()) {
    section.paragraphs.push_back(fmt::format(
        "Only the latest {} of {} {} have a section here. The table of results lists all.",
        section.parts.size(), group.items.size(), name));
  }
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
  add(results_section(data));
  // Runs last: they are many, and the other kinds are of the same workloads.
  for (const bool runs : {false, true}) {
    for (const ReportGroup& group : data.groups) {
      if ((group.name == "run") != runs) continue;
      for (PageSection& section : group.kind->sections(data, latest_section(group))) {
        add(std::move(section));
      }
    }
  }
  add(findings_section(data));
  add(machines_section(data));
  add(files_section(data));
  return page;
}

}  // namespace harness
