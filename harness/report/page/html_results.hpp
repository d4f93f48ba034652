// The table of all results.
#pragma once

#include <string>
#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// The folder that all of `files` lie in, with its slash; empty where there is none.
std::string common_folder(const std::vector<std::string>& files);

/// What a reader looks for first stands first: what was measured, how fast, how right, is it valid.
/// A column in which all rows are alike is left out, and said once below.
PageSection results_section(const ReportData& data);

}  // namespace harness
