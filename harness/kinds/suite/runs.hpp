// The result files of a suite's runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/kinds/suite/plan.hpp"
#include "harness/kinds/suite/suite.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// A run by its file.
struct RunFile {
  std::filesystem::path path{};
  std::string digest{};
  Result run{};
};

/// What lies in a folder of one planned run.
struct RunSoFar {
  std::optional<RunFile> latest{};  ///< the last that came to its end, else one that was stopped
  bool done =
      false;  ///< `latest` is valid, of the set-up that is planned: nothing is left to measure
  std::string series_id{};  ///< of the run to be measured next
};

/// The id of the series of one run that is the try number `attempt` at `run`, the same each time.
std::string series_of(const std::string& suite_id, const SuiteRunPlan& run, int attempt);

/// The result of that series in `out`: one that came to its end rather than one that was stopped.
/// Says on stderr which file cannot be read.
std::optional<RunFile> result_of(const std::filesystem::path& out, const SuiteRunPlan& run,
                                 const std::string& series_id);

/// An invalid run stays what it is, and the next try is another series: nobody can take one for the
/// other. So with one of other rules, settings or kernels, or of another machine than `machine`, a
/// fingerprint.
RunSoFar run_so_far(const std::filesystem::path& out, const SuiteRunPlan& run,
                    const std::string& suite_id, const std::string& machine);

/// Takes away what was stopped before `file`, of the same series, came to its end.
void remove_stopped_tries(const SuiteRunPlan& run, const RunFile& file);

/// The run as the suite's result has it.
SuiteTask task_of(const SuiteRunPlan& plan, const RunFile& file);

/// What the files of `runs` recommend about their precision, each piece of advice once, with the
/// names of the runs that it is for: of a run in a suite nobody reads its own summary.
std::vector<std::string> advice_on_precision(const std::vector<const Result*>& runs);

}  // namespace harness
