// The section of one ablation.
#pragma once

#include <string>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// `item` holds one.
PageSection ablation_section(const ReportItem& item, const std::string& id);

}  // namespace harness
