// The options of `run`, and those it shares: argv (and an earlier result, with --from) become a
// request.
#pragma once

#include <filesystem>
#include <optional>

#include "harness/cli/options.hpp"
#include "harness/plan/plan.hpp"

namespace harness {

struct RunInvocation {
  RunRequest request{};
  std::filesystem::path out{};     ///< empty: a new folder under runs/
  std::filesystem::path resume{};  ///< not empty: go on there, nothing else was given
  bool strict = false;
  OutputFormat format = OutputFormat::kText;
  double pause_seconds = 0;  ///< to cool down between the runs of a series
  std::vector<std::string> command_line{};
};

/// Batch, threads, CPUs, seed, data, settings: what is the same for all variants of a stack.
void add_common_options(Options& options);
/// What was not given stays as it is.
void read_common(const Options& options, RunRequest& request);

/// What is measured and how: the common options, workload, tier, kernels, precision, allocator.
void add_set_up_options(Options& options);
/// All of these but the workload; what was not given stays as it is.
void read_set_up(const Options& options, RunRequest& request);

/// The values of --set. Throws Error when a key is given twice.
std::vector<std::string> settings_given(const Options& options);

/// Longer pauses between runs are mistakes.
inline constexpr double kMostPauseSeconds = 86'400;

/// Returns nothing after `--help`. Throws Error.
std::optional<RunInvocation> parse_run_options(const Arguments& arguments);

}  // namespace harness
