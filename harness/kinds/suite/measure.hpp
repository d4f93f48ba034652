// A suite from plan to result: its runs one after the other, each a process of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/kinds/suite/plan.hpp"
#include "harness/kinds/suite/reference.hpp"
#include "harness/kinds/suite/suite.hpp"
#include "harness/measure/series_state.hpp"

namespace harness {

/// The file that says that a suite is unfinished.
inline constexpr StateForm kSuiteForm = {"suite.state", "harness-suite/1", "suite"};

struct SuiteTarget {
  std::filesystem::path out{};  ///< there
  std::vector<std::string> command_line{};
  std::optional<SuiteFile> reference{};
  std::string no_reference{};
  bool strict = false;  ///< a mistrusted run counts as invalid
};

struct SuiteOutcome {
  std::optional<Suite> suite{};  ///< empty where no run left a result
  ExitCode code = ExitCode::kOk;
  bool complete = false;  ///< nothing is left that could be measured again
};

/// Does the runs of `plan` that have no valid result in `target.out` yet, and sums up all that lies
/// there. Which result is of which run follows from the suite's id: whatever was killed in between
/// cannot count twice. A result of another set-up or machine is measured again.
SuiteOutcome measure_suite(const SuitePlan& plan, const SeriesState& state,
                           const SuiteTarget& target);

}  // namespace harness
