// Puts the page together from its files and its data.
#pragma once

#include <string>

#include "harness/report/html_data.hpp"

namespace harness {

/// The page with style, program, Chart.js and `page` as data in it. Its content security policy
/// allows these very texts, by their hashes, and nothing else.
std::string render_html(const ReportPage& page);

}  // namespace harness
