// The same work over time.
#pragma once

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// The same work on the same machine over time, with its changes of level.
PageSection history_section(const ReportData& data);

}  // namespace harness
