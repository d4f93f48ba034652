// What the log of one training run says of it as a whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/mlperf/log_reader.hpp"

namespace harness {

struct LoggedRun {
  std::string file{};                    ///< for messages
  std::string benchmark{};               ///< empty where it is not said
  std::string stand_in{};                ///< a workload of ours that says it is not MLPerf's own
  std::optional<double> batch_size{};    ///< over all processes
  bool converged = false;                ///< the run stopped with success
  std::optional<double> epochs{};        ///< at the last evaluation before that; of no other run
  std::optional<double> milliseconds{};  ///< from run_start to run_stop
};

/// As MLPerf's checker of convergence takes them: of a key that is there twice the last line
/// counts, of epochs the thousandths.
LoggedRun logged_run(const std::string& file, const std::vector<LogLine>& lines);

}  // namespace harness
