// How the forms of a gate's report word the same things.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/gate/gate_report.hpp"

namespace harness {

/// "better" where no speed is meant.
std::string verdict_word(const GateRow& row);
std::string overall_word(const GateReport& report);
/// "1.0312 [1.0287, 1.0340]"; "-" without one.
std::string improvement_text(const GateRow& row);
std::string value_text(const GateRow& row, const std::optional<double>& value);
/// What needs attention first.
std::vector<GateRow> rows_by_weight(const GateReport& report);

}  // namespace harness
