// The section of one run.
#pragma once

#include <string>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

PageSection run_section(const ReportItem& run, const std::string& id);

}  // namespace harness
