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
#include "harness/measure/ranks/sites.hpp"
#include "harness/measure/ranks/world_place.hpp"
#include "harness/workload/ranks.hpp"

namespace harness {

struct RankOrder {
  WorldPlace place{};
  RankSite site{};
  int threads = 1;          ///< where none were asked for
  std::vector<int> cpus{};  ///< that it is bound to
  SeriesPosition position{};
  std::uint32_t seed = 0;
  std::filesystem::path out{};  ///< of the run
  std::string stem{};           ///< of the run's files
  std::string uuid{};           ///< of the run
  std::string started_at{};     ///< UTC
};

/// How a rank ended. What it did not come to say is empty.
struct RankEnd {
  std::optional<Result> result{};
  std::optional<Error> error{};
  bool lost_another = false;  ///< it ended because another rank was gone
};

nlohmann::json to_json(const RankOrder& order);
/// Throws nlohmann's exceptions for what is none.
RankOrder order_from(const nlohmann::json& object);

/// The variable for the environment of a rank.
std::string variable_of(const RankOrder& order);

/// The rank's place for the engine: a guest of the meeting, for as long as it is kept. Throws Error
/// where the meeting lets it not in.
RankPlace engine_place(const RankOrder& order);

/// The order handed down through the environment; empty in a process that is no rank. Throws Error
/// for what is none.
std::optional<RankOrder> inherited_rank_order();

/// Measures in this process, which is a rank, and hands over what came of it through the descriptor
/// that it was given: no disk has to take it. Throws nothing.
ExitCode run_rank(const std::function<Result()>& measure_it);

/// What a rank handed over; empty where it did not come to its end.
RankEnd rank_end(const std::string& handed_over);

}  // namespace harness
