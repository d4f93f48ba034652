// The report as one HTML page that opens offline and asks nothing of any network.
#pragma once

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// All that the page shows of `data`.
ReportPage make_page(const ReportData& data);

}  // namespace harness
