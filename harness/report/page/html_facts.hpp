// What the sections of the page have in common: limits, names, ids, facts.
#pragma once

#include <cstddef>
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
/// Ids of the sections of single results, by their place in ReportData.
std::string run_id(std::size_t index);
std::string ablation_id(std::size_t index);
std::string profile_id(std::size_t index);
/// Whether the result at `index` of `count` has a section of its own: the latest have.
bool is_detailed(std::size_t index, std::size_t count);
bool is_detailed_profile(std::size_t index, std::size_t count);
/// What cards of runs and ablations have in common: identity, rules, settings.
std::vector<PageFact> common_facts(const ResultCommon& result, const ReportFile& file);
/// `rows` no longer than kMostRows, with a note of what was cut.
void limit_rows(PageTable& table);

}  // namespace harness
