// The options of `run`, and those it shares: argv (and an earlier result, with --from) become a
// request.
#pragma once

#include <filesystem>
#include <optional>

#include "harness/commands/options.hpp"
#include "harness/run/plan.hpp"

namespace harness {

struct RunInvocation {
  RunRequest request{};
  std::filesystem::path out{};     ///< empty: a new folder under runs/
  std::filesystem::path resume{};  ///< not empty: go on there, nothing else was given
  bool strict = false;
  double pause_seconds = 0;  ///< to cool down between the runs of a series
  std::vector<std::string> command_line{};
};

/// What is measured and how: workload, tier, kernels, precision, allocator, batch, threads, CPUs,
/// seed, data, settings.
void add_set_up_options(Options& options);
/// All of these but the workload; what was not given stays as it is.
void read_set_up(const Options& options, RunRequest& request);

/// Returns nothing after `--help`. Throws Error.
std::optional<RunInvocation> parse_run_options(const Arguments& arguments);

}  // namespace harness
