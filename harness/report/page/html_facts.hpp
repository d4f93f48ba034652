// What the sections of the page have in common: limits, names, ids, facts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"
#include "harness/result/result_common.hpp"

namespace harness {

/// Most runs, and most ablations, that are shown one by one; the tables hold more.
inline constexpr std::size_t kMostDetailed = 100;
/// Most profiles that are shown one by one: each brings thousands of operators.
inline constexpr std::size_t kMostProfiles = 20;
/// Most rows of a table: what a browser sorts and filters without a pause.
inline constexpr std::size_t kMostRows = 2000;
/// Most bytes of a name of a metric, phase or variant: all that a valid file may have. What tells
/// names apart may stand at their ends, so the page cuts their middles, by the room it has.
inline constexpr std::size_t kNameBytes = 128;
/// The id of the section of the run at `index` of `data`; empty for one without: the latest have
/// sections of their own.
std::string run_id(const ReportData& data, std::size_t index);
std::string ablation_id(const ReportData& data, std::size_t index);
std::string profile_id(const ReportData& data, std::size_t index);
/// Calls `visit` with each run, ablation and profile and the id of its section, empty or not.
template <class Visit>
void for_each_section(const ReportData& data, const Visit& visit) {
  for (std::size_t i = 0; i < data.runs.size(); ++i) visit(data.runs[i], run_id(data, i));
  for (std::size_t i = 0; i < data.ablations.size(); ++i) {
    visit(data.ablations[i], ablation_id(data, i));
  }
  for (std::size_t i = 0; i < data.profiles.size(); ++i) {
    visit(data.profiles[i], profile_id(data, i));
  }
}
/// What cards of runs and ablations have in common: identity, rules, settings.
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
