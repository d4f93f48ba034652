#include "harness/mlperf/logged_run.hpp"

#include <cmath>

#include "harness/mlperf/log_judge.hpp"

namespace harness {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// To three digits, as MLPerf's checker takes them.
std::optional<double> epochs_of(const json& value) {
  const std::optional<double> epochs = logged_number(value);
  constexpr double kDigits = 1000;
  return epochs ? std::optional(std::round(*epochs * kDigits) / kDigits) : std::nullopt;
}

}  // namespace

LoggedRun logged_run(const std::string& file, const std::vector<LogLine>& lines) {
  LoggedRun run{.file = file};
  std::optional<double> epochs;
  std::optional<double> start;
  for (const LogLine& line : lines) {
    const std::string key = text_of(logged_member(line.event, "key"));
    const json& value = logged_member(line.event, "value");
    const json& metadata = logged_member(line.event, "metadata");
    if (key == "submission_benchmark") run.benchmark = text_of(value);
    if (key == "harness_workload" && logged_member(metadata, "mlperf_equivalent") == false) {
      run.stand_in = text_of(value);
    }
    if (key == "global_batch_size") run.batch_size = logged_number(value);
    if (key == "eval_accuracy" || key == "eval_error") {
      epochs = epochs_of(logged_member(metadata, "epoch_num"));
    }
    if (key == "run_start") start = logged_time(logged_member(line.event, "time_ms"));
    if (key != "run_stop") continue;
    const std::optional<double> stop = logged_time(logged_member(line.event, "time_ms"));
    if (start && stop) run.milliseconds = *stop - *start;
    run.converged = text_of(logged_member(metadata, "status")) == "success";
    run.epochs = run.converged ? epochs : std::nullopt;
  }
  return run;
}

}  // namespace harness
