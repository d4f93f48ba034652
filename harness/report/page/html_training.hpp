// Training to a target.
#pragma once

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// Quality by epoch and by time of runs that train to a target.
PageSection training_section(const ReportData& data);

}  // namespace harness
