// What one of several ranks is told by the process that runs them, and what it hands back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/measure.hpp"
#include "harness/workload/ranks.hpp"

namespace harness {

struct RankOrder {
  RankPlace place{};
  std::vector<int> cpus{};  ///< that it is bound to
  SeriesPosition position{};
  std::uint32_t seed = 0;
  std::filesystem::path out{};  ///< of the run
  std::string stem{};           ///< of the run's files
  std::string uuid{};           ///< of the run
  std::string started_at{};     ///< UTC
  /// Where the ranks of this run meet; only its user may enter.
  std::filesystem::path folder{};
};

/// How a rank ended. What it did not come to say is empty.
struct RankEnd {
  std::optional<Result> result{};
  std::optional<Error> error{};
  bool lost_another = false;  ///< it ended because another rank was gone
};

/// The variable for the environment of a rank.
std::string variable_of(const RankOrder& order);

/// The order handed down through the environment; empty in a process that is no rank. Throws Error
/// for what is none.
std::optional<RankOrder> inherited_rank_order();

/// Measures in this process, which is a rank, and hands over what came of it through the descriptor
/// that it was given: no disk has to take it. Throws nothing.
ExitCode run_rank(const std::function<Result()>& measure_it);

/// What a rank handed over; empty where it did not come to its end.
RankEnd rank_end(const std::string& handed_over);

/// Of the standard error of a rank.
std::filesystem::path rank_errors(const std::filesystem::path& folder, int rank);

}  // namespace harness
