// LoadGen's detailed log: lines of `:::MLLOG {JSON}`. It is where its figures and its own judgement
// are; StartTest() returns nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/loadgen_report.hpp"

namespace harness::loadgen {

struct TestLog {
  std::string version{};
  bool valid = false;                       ///< result_validity: VALID
  std::vector<std::string> reasons{};       ///< why not, and all that was logged as an error
  std::int64_t errors = 0;                  ///< that were logged
  std::map<std::string, double> numbers{};  ///< of the outcome, true as 1
  nlohmann::json requested = nlohmann::json::object();
  nlohmann::json effective = nlohmann::json::object();
  std::optional<double> number(const std::string& key) const;
};

/// Throws Error where `file` cannot be read or is no such log. `judged`: the log is of a test that
/// ends with a judgement.
TestLog read_log(const std::filesystem::path& file, bool judged);

/// Throws Error where LoadGen could not write all that it had to say in the folder `test`: a
/// summary, and with `answers` every answer that it was given.
void require_whole_logs(const std::filesystem::path& test, bool answers);

/// Of a query where the scenario tells queries from samples.
std::vector<LatencyPercentile> percentiles_of(const TestLog& log);

/// The scenario's figure; 0 where the log has none. Precondition: LoadGen drives the scenario.
double figure_in(const TestLog& log, const std::string& scenario);

/// What the log says of a test of that scenario, under the same condition.
LoadGenReport report_of(const TestLog& log, const std::string& scenario);

/// The files that LoadGen left in the folder `test` of `logs`, by name. Throws Error where one
/// cannot be read.
std::vector<FileHash> files_of_test(const std::filesystem::path& logs, const std::string& test);

}  // namespace harness::loadgen
