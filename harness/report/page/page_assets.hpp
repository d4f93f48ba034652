// The files of harness/report/page/ and Chart.js, as they were when this program was built.
#pragma once

#include <string_view>

namespace harness {

std::string_view page_html();
std::string_view page_css();
std::string_view tables_js();
std::string_view labels_js();
std::string_view plots_js();
std::string_view marks_js();
std::string_view icicle_js();
std::string_view verdict_js();
std::string_view page_js();
std::string_view chart_js();  ///< with its licence notice

}  // namespace harness
