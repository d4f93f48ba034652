// The options of `run`, and those it shares: argv (and an earlier result, with --from) become a
// request.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/options.hpp"
#include "harness/measure/ranks/world_place.hpp"
#include "harness/plan/plan.hpp"
#include "harness/result/setting.hpp"

namespace harness {

struct RunInvocation {
  RunRequest request{};
  std::filesystem::path out{};     ///< empty: a new folder under runs/
  std::filesystem::path resume{};  ///< not empty: go on there; of settings only ranks can be given
  bool strict = false;
  bool lockstep = false;  ///< steps when told on standard input
  bool trace = false;     ///< writes when each part of each step began and ended
  OutputFormat format = OutputFormat::kText;
  AskedPlace place{};        ///< which rank this is of those that are started one by one
  double pause_seconds = 0;  ///< to cool down between the runs of a series
  std::vector<std::string> command_line{};
};

/// The options of the settings that can be given there (result/setting.hpp).
void add_settings(Options& options, const std::vector<SettingScope>& scopes);
/// Their values; what was not given stays as it is. Throws Error for a --set given twice.
void read_settings(const Options& options, const std::vector<SettingScope>& scopes,
                   RunRequest& request);
/// The same for single settings, by name.
void add_settings(Options& options, const std::vector<std::string>& names);
void read_settings(const Options& options, const std::vector<std::string>& names,
                   RunRequest& request);
/// Throws Error where neither a workload nor rules, which name one, were given.
void require_workload(const Options& options, const RunRequest& request);

/// Longer pauses between runs are mistakes.
inline constexpr double kMostPauseSeconds = 86'400;

/// `arguments` but for those that say which rank a process is: what is alike for all ranks.
Arguments without_place(const Arguments& arguments);
/// `arguments` but for these options, each of which has a value.
Arguments without_options(const Arguments& arguments, const std::vector<std::string>& options);

/// Returns nothing after `--help`. Throws Error.
std::optional<RunInvocation> parse_run_options(const Arguments& arguments);

}  // namespace harness
