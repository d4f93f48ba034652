// How far a suite's score may be trusted: as far as its file, the suite and its runs.
#pragma once

#include <string>
#include <vector>

#include "harness/kinds/suite/suite.hpp"
#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

struct ScoreTrust {
  Tone tone = Tone::kGood;
  std::vector<std::string> reasons{};  ///< why the tone is no better; a few words each
};

/// Good only for a complete, closed suite in a sound file, all of whose runs are valid and trusted.
/// A run's own file is looked at where it is among `runs`.
ScoreTrust trust_in_score(const ReportItem& suite, const std::vector<ReportItem>& runs);

/// The run of `task` among `runs`; null where it is not there.
const ReportItem* run_of(const SuiteTask& task, const std::vector<ReportItem>& runs);

}  // namespace harness
