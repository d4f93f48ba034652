// What MLPerf's submission checker asks of a test by LoadGen: rules/mlperf-inference-*.json as
// data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// A workload that can be packed, and the model of MLPerf by whose limits it is judged.
struct InferenceModel {
  std::string workload{};
  std::string model{};
  std::string metric{};                ///< the quality that is packed
  std::string accuracy{};              ///< its name in accuracy.txt
  std::int64_t samples = 0;            ///< in the evaluation set
  std::int64_t samples_in_memory = 0;  ///< that the timed test draws from, at least
  double latency_bound = 0;            ///< of a server's queries, seconds
};

struct InferenceRules {
  std::string ruleset{};
  double round = 0;        ///< whose seeds the tests draw from
  double min_seconds = 0;  ///< of the timed test
  std::vector<InferenceModel> models{};
};

/// The rules that packages are made by.
inline constexpr const char* kInferenceRules = "mlperf-inference-6.0";

/// Reads rules/NAME.json and checks it against rules/mlperf-inference.schema.json, both below
/// `home`. Throws Error that names the path and the reason inside the file.
InferenceRules load_inference_rules(const std::filesystem::path& home, const std::string& name);

}  // namespace harness
