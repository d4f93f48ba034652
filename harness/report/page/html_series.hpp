// Set-ups of one workload, compared.
#pragma once

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// Set-ups of a workload side by side, by compare_sides(); without parts where there is nothing to
/// compare.
PageSection series_section(const ReportData& data);

}  // namespace harness
