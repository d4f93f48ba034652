// The forms of a gate's report: text for a terminal, Markdown for a pull request, JUnit for a CI
// server, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/gate/report.hpp"

namespace harness {

inline const std::vector<std::string> kGateFormats = {"text", "json", "markdown", "junit"};

/// `format` is one of kGateFormats. Where `inconclusive_passes`, it is no failure to a CI server
/// nor in the exit code that the JSON holds.
std::string render_gate(const GateReport& report, const std::string& format,
                        bool inconclusive_passes);

/// In place of a report where there is none, for those who read files: what went wrong, in a form
/// that no CI server takes for success.
std::string render_gate_error(const std::string& format, const Error& error);

}  // namespace harness
