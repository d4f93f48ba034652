// Of a run whose steps several processes shared.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace harness {

/// One of the processes. Seconds are medians over its timed steps.
struct RankReport {
  std::int64_t rank = 0;                 ///< from 0
  std::int64_t node = 0;                 ///< the machine that it ran on, from 0
  std::string cpu_model{};               ///< of that machine; empty: not told
  std::string cpus{};                    ///< that it was bound to, "0-3"
  std::optional<double> own_seconds{};   ///< of a step, without waiting for others
  std::optional<double> wait_seconds{};  ///< of a step, for the others' gradients
  std::optional<double> sum_seconds{};   ///< that gradients were under way, waited for or not
  std::optional<double> peak_bytes{};    ///< of memory, by its allocator
  std::string missing{};                 ///< why it has no numbers

  /// Of the time that gradients were under way, the share that the step went on beside it; empty
  /// where they were not.
  std::optional<double> hidden() const;
};

struct WorldReport {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;              ///< machines
  std::string engine{};                ///< what carried their words, with its version
  std::int64_t global_batch_size = 1;  ///< samples of a step of all ranks
  std::vector<RankReport> members{};   ///< by rank
  bool lost_rank = false;              ///< in no file: this rank ended since another was gone
};

/// The rank that itself took longest for a step, for which the others waited. Null where none has
/// numbers, or all took about as long.
const RankReport* slowest_rank(const WorldReport& world);

nlohmann::json world_json(const WorldReport& world);
/// Throws nlohmann's exceptions for what does not fit the schema.
WorldReport world_from_json(const nlohmann::json& object);

}  // namespace harness
