// What about a machine, or about its state during a run, makes measurements worse, and how to
// change it. Pure functions of captured facts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/base/types.hpp"

namespace harness {

enum class Severity {
  kOk,       ///< looked at and found good
  kNote,     ///< worth knowing, or could not be read
  kWarning,  ///< makes numbers worse or noisier; change it
};

struct Finding {
  std::string id{};  ///< "governor", "load", ... one a subject
  Severity severity = Severity::kOk;
  std::string what{};     ///< what was found, one line
  std::string why{};      ///< why it matters; empty for kOk
  std::string how{};      ///< what to do, a command where there is one; may be empty
  bool mistrust = false;  ///< numbers measured like this are not to be believed
  /// Of a finding that mistrusts: it weighs on two sides that are measured in turn alike, so their
  /// ratio can still be believed.
  bool spares_ratios = false;
};

/// Judges capture_system() and capture_environment(). Fields that are null, absent or of another
/// type are reported as unknown or passed over, never an error. Always in the same order.
std::vector<Finding> diagnose(const nlohmann::json& system, const nlohmann::json& environment);

/// Whether bf16 or int8 is worth asking for: by measured peaks, "fma.fp32" and that of `precision`
/// among them.
Finding judge_narrow(const std::vector<Peak>& peaks, const std::string& precision);

/// Why a build is too slow for its times to mean anything (a debug build, sanitizers), empty for a
/// build that is good to be measured. Of capture_system().
std::string slow_build(const nlohmann::json& system);

/// What can still be used of numbers that these findings mistrust, one sentence; empty when none
/// does.
std::string what_is_left(const std::vector<Finding>& findings);

/// "ok", "note", "warning".
const char* to_text(Severity severity);

/// [{id, severity, what, why, how, mistrust}], why and how null when empty.
nlohmann::json to_json(const std::vector<Finding>& findings);

/// For a terminal, the worst first.
std::string render_findings(const std::vector<Finding>& findings);

}  // namespace harness
