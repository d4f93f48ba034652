// Which profiles stand side by side, and what is said of all of a workload.
#pragma once

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// Profiles of a workload side by side, each later one against the first; without parts where there
/// is nothing to compare.
PageSection profile_pairs_section(const ReportData& data);

}  // namespace harness
