// Campaigns of the gate: the verdict, and how it came about.
#pragma once

#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// One for each campaign; of many the first.
std::vector<PageVerdict> verdicts_of(const ReportData& data);
/// A part for each campaign, with the funnel of each metric.
PageSection campaigns_section(const ReportData& data);

}  // namespace harness
