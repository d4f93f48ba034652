// The sections of the report page, each from the results it is about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

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

PageSection run_section(const ReportRun& run, const std::string& id);
PageSection ablation_section(const ReportAblation& ablation, const std::string& id);
PageSection profile_section(const ReportProfile& profile, const std::string& id);
/// Profiles of a workload side by side, each later one against the first; without parts where there
/// is nothing to compare.
PageSection profile_pairs_section(const ReportData& data);
/// Set-ups of a workload side by side, by compare_sides(); without parts where there is nothing to
/// compare.
PageSection series_section(const ReportData& data);
/// Quality by epoch and by time of runs that train to a target.
PageSection training_section(const ReportData& data);
/// The same work on the same machine over time, with its changes of level.
PageSection history_section(const ReportData& data);
PageSection machines_section(const ReportData& data);
/// Every violation, departure, reason for mistrust and recommendation.
PageSection findings_section(const ReportData& data);
/// Files with problems, and those that were passed over.
PageSection files_section(const ReportData& data);

/// Samples over the steps (`x_label` says of what), warm-up shaded, the median as a line.
PagePlot sample_plot(const Metric& metric, const ThinSamples& samples, const std::string& x_label);
PagePlot histogram_plot(const Metric& metric, const Histogram& histogram);
/// Where the steps lie under the machine's peaks; empty where work, traffic or a peak is unknown.
std::optional<PagePlot> roofline_plot(const Result& run);

/// A step of a profile as nested bars, in several orders.
PageIcicle profile_icicle(const ProfileTables& tables);
/// What oneDNN and our kernels took of a step, the longest first; empty without any.
std::optional<PagePlot> primitives_plot(const ProfileTables& tables);
/// Primitives, and operators whose work and traffic are known, under the peaks that the profile's
/// machine showed; empty without any such.
std::optional<PagePlot> profile_roofline(const Profile& profile);
/// Memory in use over the first recorded step; empty where it was not watched.
std::optional<PagePlot> memory_plot(const ProfileTables& tables);
/// The same as tables: parts, operators by name, primitives, the largest allocations; and, longer,
/// each operator and each primitive.
std::vector<PageTable> profile_tables(const ProfileTables& tables);
std::vector<PageTable> profile_rows(const ProfileTables& tables);
/// Colour of what belongs to a phase, in all pictures of profiles; muted for what belongs to none.
std::size_t phase_colour(const std::string& phase);

/// What cards of runs and ablations have in common: identity, rules, settings.
std::vector<PageFact> common_facts(const ResultCommon& result, const ReportFile& file);
/// `rows` no longer than kMostRows, with a note of what was cut.
void limit_rows(PageTable& table);

}  // namespace harness
