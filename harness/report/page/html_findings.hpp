// Machines, what the rules and the doctor found, and files with problems.
#pragma once

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

PageSection machines_section(const ReportData& data);
/// Every violation, departure, reason for mistrust and recommendation.
PageSection findings_section(const ReportData& data);
/// Files with problems, and those that were passed over.
PageSection files_section(const ReportData& data);

}  // namespace harness
