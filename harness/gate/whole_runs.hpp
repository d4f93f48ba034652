// The commands of a campaign, each run whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/gate/report.hpp"
#include "harness/lockstep/captured_output.hpp"
#include "harness/lockstep/shell_command.hpp"

namespace harness {

struct WholeRun {
  double seconds = 0;
  std::vector<Result> results{};     ///< of a `harness run` or `suite`; of no other command
  std::string failure{};             ///< why it is no measurement; empty: it is one
  ExitCode code = ExitCode::kUsage;  ///< of an error that says so
  bool final = false;                ///< it is of no use to try it again
};

/// Where a run's files are: OUT/SIDE/NNN, and OUT/SIDE/NNN.txt for what it printed.
std::filesystem::path run_folder(const std::filesystem::path& out, const std::string& side,
                                 std::int64_t pair);

class WholeRuns {
 public:
  /// `id`: of the campaign.
  WholeRuns(const CampaignOptions& options, const CampaignHooks& hooks, std::string id,
            double pause_seconds)
      : options_(options), hooks_(hooks), id_(std::move(id)), pause_seconds_(pause_seconds) {}

  /// Runs `command` after the pause; what leaves results gets its own --out. Throws Interrupted
  /// when asked to stop, and Error for results that are not sound.
  WholeRun run(const std::string& side, std::int64_t pair, const AskedCommand& command);

  /// The sound results of a run that may not have come to its end: one that was killed leaves none,
  /// or half a series, which counts as none.
  std::vector<Result> left_in(const std::filesystem::path& folder) const;

  /// Of runs whose output was cut, or could not be kept.
  void add_notes(GateReport& report) const;

 private:
  std::vector<Result> missed_in(const std::filesystem::path& folder) const;
  void note_output(const std::string& run_name, const ShellRun& run,
                   const std::filesystem::path& log);

  const CampaignOptions& options_;
  const CampaignHooks& hooks_;
  std::string id_;
  double pause_seconds_;
  std::int64_t cut_runs_ = 0;   ///< whose output is not all in its log
  std::int64_t lost_runs_ = 0;  ///< whose log could not be written
};

/// A command that hangs is ended so many seconds after the whole budget would have been spent; 0:
/// never, where there is none.
double most_seconds(const CampaignOptions& options);

/// The report on a candidate that does not run.
GateReport failure_report(const CampaignOptions& options, const std::string& why);

}  // namespace harness
