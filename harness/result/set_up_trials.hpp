// Threads, batch size and precision that were chosen by measuring: what was tried, and the rule
// that chose.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace harness {

/// Another set-up is taken in place of the usual one if it is so many times as fast.
inline constexpr double kWorthAnotherSetUp = 1.03;

struct SetUpTrial {
  std::int64_t threads = 1;
  std::int64_t batch_size = 1;
  double samples_per_second = 0;  ///< the best of its passes
  std::string precision{};        ///< empty in files before 1.11.0: that of the run
};

struct SetUpTrials {
  double seconds = 0;                ///< that all of them took
  std::string from{};                ///< UUID of the run that tried them; empty: this one did
  std::vector<SetUpTrial> trials{};  ///< the usual set-up first
};

/// The fastest, or the usual one where none is faster than it by kWorthAnotherSetUp. Precondition:
/// `trials` is not empty.
const SetUpTrial& best_set_up(const std::vector<SetUpTrial>& trials);

nlohmann::json set_up_json(const SetUpTrials& set_up);
/// Throws nlohmann's exceptions for a member that is missing or of another type.
SetUpTrials set_up_from(const nlohmann::json& object);

}  // namespace harness
