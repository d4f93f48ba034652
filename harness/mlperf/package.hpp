// Five runs as an MLPerf Training package: results/, systems/, benchmarks/.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

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

/// The package's files by their paths in it. With `rehearsal`, runs that are not MLPerf's own are
/// taken too, and every file says that it is a rehearsal. Throws Error, naming the file, for runs
/// that do not belong together: another number than five, not all runs of one series of as
/// many, several workloads, settings or machines, a seed twice, more than one run that did not
/// reach its target, a log that breaks the rules or belongs to another run.
std::map<std::string, std::string> make_package(std::vector<PackagedRun> runs,
                                                const LogRules& rules, bool rehearsal);

}  // namespace harness
