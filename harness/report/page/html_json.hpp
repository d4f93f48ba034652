// The page's data as JSON, with short names: there may be many points.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/report/html_data.hpp"

namespace harness {

nlohmann::json to_json(const ReportPage& page);
/// `document` as text that may stand in a <script> element: ASCII, without <, > and &, so that no
/// text in it can end the element or begin a comment.
std::string script_json(const nlohmann::json& document);

}  // namespace harness
