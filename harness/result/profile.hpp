// The result of `harness profile`: a run of plain steps, with recorded ones between them, and what
// the recorded ones did. JSON form: results/schema/profile.schema.json.
#pragma once

#include <optional>
#include <string>

#include "harness/profile/tables.hpp"
#include "harness/result/result.hpp"

namespace harness {

inline constexpr const char* kProfileSchemaVersion = "1.7.0";

/// Tags of the metrics that the overhead follows from.
inline constexpr const char* kPlainStep = "time.step";
inline constexpr const char* kRecordedStep = "time.recorded_step";

/// The parts of Result are those of the plain steps; the recorded ones are the metric
/// kRecordedStep.
struct Profile : Result {
  ProfileTables tables{};
  /// How many times as long a recorded step takes: over pairs of neighbours.
  std::optional<Interval> overhead{};
  std::string overhead_reason{};  ///< why it is missing
  std::string trace_file{};       ///< beside the result; empty where none was written
  std::string log_file{};         ///< the lines that oneDNN wrote
};

/// From the two metrics: step n of the one was run next to step n of the other.
void measure_overhead(Profile& profile);

}  // namespace harness
