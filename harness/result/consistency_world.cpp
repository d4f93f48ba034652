#include "harness/result/consistency_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace harness {

void check_world(const Result& result, ProblemList& problems) {
  const nlohmann::json& effective = result.settings.effective;
  const auto ranks = effective.value("ranks", std::int64_t{1});
  problems.expect(
      result.world.has_value() == (ranks > 1), "/world",
      fmt::format("{}, but the settings say {} ranks", result.world ? "there" : "missing", ranks));
  if (!result.world) return;
  const WorldReport& world = *result.world;
  problems.expect(world.ranks == ranks, "/world/ranks",
                  fmt::format("not the {} of the settings", ranks));
  problems.expect(world.nodes <= world.ranks, "/world/nodes", "more machines than ranks");
  const auto batch = effective.value("batch_size", std::int64_t{1});
  problems.expect(world.global_batch_size == batch * ranks, "/world/global_batch_size",
                  fmt::format("not {} ranks of {} samples", ranks, batch));
  problems.expect(std::ssize(world.members) == world.ranks, "/world/members",
                  "not as many as there are ranks");
  std::int64_t nodes = 0;
  for (std::size_t i = 0; i < world.members.size(); ++i) {
    const RankReport& rank = world.members[i];
    const std::string path = fmt::format("/world/members/{}", i);
    problems.expect(rank.rank == static_cast<std::int64_t>(i), path + "/rank",
                    "out of order: members are listed by rank");
    problems.expect(rank.node <= nodes, path + "/node",
                    "machines are counted in the order of their first ranks");
    nodes = std::max(nodes, rank.node + 1);
  }
  problems.expect(world.nodes == nodes, "/world/nodes",
                  fmt::format("not the {} of the members", nodes));
}

}  // namespace harness
