// Five runs as an MLPerf Training package: results/, systems/, benchmarks/.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/mlperf/convergence_points.hpp"
#include "harness/mlperf/log_rules.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// A result file and the log that lies beside it.
struct PackagedRun {
  std::string file{};  ///< of the result, for messages
  Result result{};
  std::string log_text{};
};

/// Reads FILE.json and FILE.log. Throws Error as read_result_file() and read_file() do; a run that
/// trains to no target has no log, and never enters a package.
PackagedRun read_packaged_run(const std::filesystem::path& file);

struct Package {
  std::map<std::string, std::string> files{};  ///< by their paths in it
  std::string score{};                         ///< of training: minutes until the target, in words
  std::string convergence{};  ///< of training: epochs beside those of MLPerf's reference, in words
};

/// With `rehearsal`, runs that are not MLPerf's own are taken too, and every file says that it is a
/// rehearsal. Throws Error, naming the file, for runs that do not belong together: another number
/// than five, not all runs of one series of as many, several workloads, settings or machines, a
/// seed twice, more than one run that did not reach its target, a log that breaks the rules or
/// belongs to another run; and for closed runs that fail the check of convergence by `points`.
Package make_package(std::vector<PackagedRun> runs, const LogRules& rules,
                     const ConvergencePoints& points, bool rehearsal);

}  // namespace harness
