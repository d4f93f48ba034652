// The section of one ablation.
#pragma once

#include <string>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

PageSection ablation_section(const ReportAblation& ablation, const std::string& id);

}  // namespace harness
