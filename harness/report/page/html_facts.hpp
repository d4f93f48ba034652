// What the sections of the page have in common: limits, names, ids, facts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"
#include "harness/result/result_common.hpp"

namespace harness {

/// Most rows of a table: what a browser sorts and filters without a pause.
inline constexpr std::size_t kMostRows = 2000;
/// Most bytes of a name of a metric, phase or variant: all that a valid file may have. What tells
/// names apart may stand at their ends, so the page cuts their middles, by the room it has.
inline constexpr std::size_t kNameBytes = 128;
/// The id of the section of the item at `index` of `group`; empty for one without: the latest have
/// sections of their own.
std::string section_id(const ReportGroup& group, std::size_t index);
/// The same of a kind by its name.
std::string section_id(const ReportData& data, std::string_view kind, std::size_t index);
/// Calls `visit` with each result and the id of its section, empty or not.
template <class Visit>
void for_each_section(const ReportData& data, const Visit& visit) {
  for (const ReportGroup& group : data.groups) {
    for (std::size_t i = 0; i < group.items.size(); ++i) {
      visit(group.items[i], section_id(group, i));
    }
  }
}
/// What cards of results have in common: identity, rules, settings.
std::vector<PageFact> common_facts(const ResultCommon& result, const ReportFile& file);
/// `rows` no longer than kMostRows, with a note of what was cut.
void limit_rows(PageTable& table);
/// "-" where there is no value.
PageCell quantity_cell(const std::optional<double>& value, const std::string& unit);
template <class Count>
PageCell count_cell(Count count) {
  return {std::to_string(count), static_cast<double>(count)};
}
/// The interval of a point at `interval`'s center, unless it goes beyond what can be drawn.
void set_bounds(PlotPoint& point, const Interval& interval, double factor = 1);
void drop_empty_series(PagePlot& plot);

}  // namespace harness
