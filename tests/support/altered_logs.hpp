// Logs of training runs, each altered in one respect, with the rule that this breaks.
#pragma once

#include <string>
#include <vector>

namespace harness {

struct AlteredLog {
  std::string name{};
  std::string rule{};  ///< that the built-in check names; empty: it passes
  std::string text{};  ///< of the whole file
};

/// Judged alike by the built-in check and MLPerf's own.
std::vector<AlteredLog> altered_logs();

/// What the built-in check cannot read; MLPerf's own refuses these as well.
std::vector<AlteredLog> unreadable_logs();
/// Sound, and broken by a rule of MLPerf's that its checker does not look at.
std::vector<AlteredLog> stricter_judged_logs();

/// What MLPerf's own check lets pass and the built-in one does not, knowingly: other readers of
/// JSON refuse it.
std::vector<AlteredLog> strictly_read_logs();

}  // namespace harness
