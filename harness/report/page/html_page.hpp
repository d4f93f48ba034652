// The report as one HTML page that opens offline and asks nothing of any network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// All that the page shows of `data`.
ReportPage make_page(const ReportData& data);

nlohmann::json to_json(const ReportPage& page);

/// `document` as text that may stand in a <script> element: ASCII, without <, > and &, so that no
/// text in it can end the element or begin a comment.
std::string script_json(const nlohmann::json& document);

/// The page with style, program, Chart.js and `page` as data in it. Its content security policy
/// allows these very texts, by their hashes, and nothing else.
std::string render_html(const ReportPage& page);

}  // namespace harness
