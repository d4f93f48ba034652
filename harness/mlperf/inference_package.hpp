// Runs by LoadGen as a package of MLPerf Inference: open division, edge.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/mlperf/inference_rules.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// A result file, and the folder of LoadGen's logs beside it.
struct PackagedTest {
  std::string file{};  ///< of the result, for messages
  Result result{};
  std::filesystem::path logs{};
};

/// Of FILE.json, which `result` was read from. Throws Error where there is no FILE.loadgen, or the
/// run was not by LoadGen.
PackagedTest packaged_test(const std::filesystem::path& file, Result result);

/// The package's files by their paths in it. Each but LoadGen's logs says that it is a rehearsal.
/// Throws Error, naming the file, for a test that the official checker would not count (too short,
/// seeds of another round, too few samples, early stopping unmet, errors in a log), for one that it
/// counts and should not (ended before its time, invalid by LoadGen's own word), for logs that are
/// not those whose SHA-256 the result has, and for tests that do not belong together: two machines,
/// a scenario of a workload twice.
std::map<std::string, std::string> make_inference_package(const std::vector<PackagedTest>& tests,
                                                          const InferenceRules& rules);

}  // namespace harness
