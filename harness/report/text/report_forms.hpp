// The report for a terminal, and for other programs: one JSON document, or a table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/report/report_data.hpp"

namespace harness {

/// A line for each result and each file that is none; every text safe to print.
std::string render_report(const ReportData& data);
/// The same as one document: what is said of each file, and the files left out.
nlohmann::json report_json(const ReportData& data);
/// Rows of metric_table(), as the kinds of the results have them.
std::string report_csv(const ReportData& data);

}  // namespace harness
