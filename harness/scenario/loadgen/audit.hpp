// MLPerf Inference's compliance tests: whether a system answers while it is timed as it does when
// its accuracy is asked for (TEST01), and whether it is no faster when one sample comes again and
// again (TEST04). The rules are those of the official run_verification.py.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace harness::loadgen {

/// Why the answers that were logged in `audit` are not those in `accuracy`, both
/// mlperf_log_accuracy.json; empty where all are. Throws Error for files that are none.
std::string differing_answers(const std::filesystem::path& audit,
                              const std::filesystem::path& accuracy);

/// Why `audited`, the figure under the test `name`, is not close enough to `figure`; empty where it
/// is. Of throughputs a tenth is allowed, of latencies a fifth.
std::string differing_speed(const std::string& name, double figure, double audited, bool latency);

}  // namespace harness::loadgen
