// A row of the gate's report in words, as all forms of the report say it.
#pragma once

#include <optional>
#include <string>

#include "harness/gate/report.hpp"

namespace harness {

/// "0.9699 [0.9611, 0.9790]"; "-" where there is no ratio.
std::string improvement_text(const GateRow& row);
/// A side's value with its unit.
std::string value_text(const GateRow& row, const std::optional<double>& value);
/// The note, what "same" rests on, and how often one side was slow; may be empty.
std::string remarks(const GateRow& row);

/// The verdict of the report in one sentence: the metric that decided, its ratio with the interval,
/// the margin, and after how many clusters. Names and notes are as they came.
std::string verdict_sentence(const GateReport& report);

}  // namespace harness
