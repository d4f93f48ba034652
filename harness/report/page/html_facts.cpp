#include "harness/report/page/html_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.hpp"
#include "harness/report/common_text.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/shown_kind.hpp"

namespace harness {
namespace {

std::string settings_text(const Settings& settings) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : settings.effective.items()) {
    if (value.is_null() || value.is_object()) continue;
    parts.push_back(printable(key, 40) + " " + setting_text(settings, key.c_str()));
  }
  const auto own = settings.effective.find("set");
  if (own != settings.effective.end() && own->is_object()) {
    for (const auto& [key, value] : own->items()) {
      parts.push_back(printable(key, 40) + "=" + printable(plain_text(value), 60));
    }
  }
  return join(parts, " · ");
}

void add_violations(std::vector<PageFact>& facts, const Status& status) {
  constexpr std::size_t kMostShown = 8;
  const std::vector<Violation>& all = status.violations;
  for (std::size_t i = 0; i < std::min(all.size(), kMostShown); ++i) {
    const bool incomplete = is_incomplete(all[i]);
    facts.push_back({incomplete ? "not complete" : "broken rule", violation_text(all[i]),
                     incomplete ? Tone::kDoubt : Tone::kBad});
  }
  if (all.size() > kMostShown) {
    facts.push_back({"and", fmt::format("{} more, see rules and findings", all.size() - kMostShown),
                     Tone::kDoubt});
  }
}

}  // namespace

std::string section_id(const ReportGroup& group, std::size_t index) {
  const bool late = index + group.kind->most_sections() >= group.items.size();
  return late ? fmt::format("{}-{}", group.name, index + 1) : "";
}

std::string section_id(const ReportData& data, std::string_view kind, std::size_t index) {
  for (const ReportGroup& group : data.groups) {
    if (group.name == kind) return section_id(group, index);
  }
  return "";
}

void limit_rows(PageTable& table) {
  if (table.rows.size() <= kMostRows) return;
  table.note = fmt::format("Only the first {} of {} rows are shown.", kMostRows, table.rows.size());
  table.rows.resize(kMostRows);
}

PageCell quantity_cell(const std::optional<double>& value, const std::string& unit) {
  return value ? PageCell{format_quantity(*value, unit), *value} : PageCell{"-"};
}

void set_bounds(PlotPoint& point, const Interval& interval, double factor) {
  if (!interval.low || !interval.high) return;
  if (!(std::abs(*interval.low) <= kLargestPlotted && *interval.high <= kLargestPlotted)) return;
  point.low = plotted(*interval.low * factor);
  point.high = plotted(*interval.high * factor);
}

void drop_empty_series(PagePlot& plot) {
  std::erase_if(plot.series, [](const PlotSeries& series) { return series.points.empty(); });
}

std::vector<PageFact> common_facts(const ResultCommon& result, const ReportFile& file) {
  const Identity& identity = result.identity;
  std::vector<PageFact> facts;
  const auto add = [&](const char* name, const std::string& value, Tone tone = Tone::kPlain) {
    facts.push_back({name, value, tone});
  };
  add("status", status_text(result.status, file), status_tone(result.status, file));
  add("file", printable(file.name, 400));
  for (const SchemaProblem& problem : file.problems) {
    add("problem", problem_text(problem), Tone::kBad);
  }
  add_violations(facts, result.status);
  for (const std::string& reason : mistrust_texts(result.status)) {
    add("mistrusted", reason, Tone::kDoubt);
  }
  add("time", fmt::format("{} to {}", printable(identity.started_at, 30),
                          printable(identity.ended_at, 30)));
  add("rules",
      fmt::format("{} {}, tier {}, division {}{}", printable(result.rules.file, 80),
                  printable(result.rules.version, 24), printable(result.rules.tier, 24),
                  printable(result.rules.division, 16),
                  result.rules.departures.empty()
                      ? ""
                      : ", " + format_count(std::ssize(result.rules.departures), "departure")));
  add("settings", settings_text(result.settings));
  add("seed", std::to_string(result.seeds.run));
  if (result.dataset) {
    add("data", printable(result.dataset->name, 80) + " " +
                    short_name(result.dataset->sha256.value_or(""), 12));
  }
  add("harness",
      fmt::format("{}, commit {}{}", printable(identity.harness_version, 40),
                  printable(identity.git_commit, 64), identity.git_dirty ? ", modified" : ""));
  add("machine", short_name(machine_of(result)));
  add("command", printable(join(identity.command_line, " "), 600));
  add("run", fmt::format("{} of {} in series {}, {}", identity.run_index, identity.run_count,
                         short_name(identity.series_id), printable(identity.uuid, 40)));
  return facts;
}

}  // namespace harness
