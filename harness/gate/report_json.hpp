// A gate's report as JSON: for programs, and for the file that a campaign keeps its verdict in.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/gate/report.hpp"

namespace harness {

nlohmann::json to_json(const GateReport& report, bool inconclusive_passes);

/// What to_json() wrote, but for what follows from the rest. Throws nlohmann::json::exception for
/// what has another form, and std::invalid_argument for numbers that no gate writes.
GateReport gate_report_from_json(const nlohmann::json& document);

}  // namespace harness
