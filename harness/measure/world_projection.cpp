#include "harness/measure/world_projection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/result_file.hpp"

namespace harness {
namespace {

constexpr const char* kPhase = "time.phase.";

std::vector<TimedSum> timed_sums(const Result& result) {
  std::vector<TimedSum> sums;
  const std::string phase = kPhase;
  for (const Metric& metric : result.metrics) {
    if (!metric.tag.starts_with(phase) || !metric.summary.median) continue;
    const auto bytes = parse_integer(metric.tag.substr(phase.size()));
    if (bytes) sums.push_back({static_cast<double>(*bytes), metric.summary.median->center});
  }
  return sums;
}

/// Throws Error for what tells of no network.
Result read_network(const std::string& file, std::vector<std::string>& notes) {
  Result result = read_result_file(file);
  if (result.rules.workload != kNetworkWorkload || !result.world) {
    throw Error("--network " + printable(file),
                "is a result of '" + printable(result.rules.workload) + "', not of sums over ranks",
                "harness run --workload allreduce --ranks 2 writes one");
  }
  if (result.status.state != RunState::kValid) {
    notes.push_back("the network's result is not a valid one");
  }
  return result;
}

/// The part of a plain step that is the backward pass; all of it where nothing tells.
double backward_share(const Profile& profile) {
  const auto step = median_of(profile.metrics, kPlainStep);
  const auto backward = median_of(profile.metrics, std::string(kPhase) + "backward");
  return step && backward && *step > 0 ? std::min(1.0, *backward / *step) : 1;
}

}  // namespace

WorldProjection project_world(const Profile& profile, double step_seconds, std::int64_t ranks,
                              const std::string& network_file, std::vector<std::string>& notes) {
  if (profile.gradients.empty()) {
    throw Error("--set ranks=" + std::to_string(ranks), "the profile does not tell of gradients",
                "make one of a training, by this version");
  }
  const Result timed = read_network(network_file, notes);
  const Network network(timed_sums(timed), static_cast<int>(timed.world->ranks));
  WorldProjection world{network_file,       timed.world->engine, timed.world->ranks,
                        timed.world->nodes, network.latency(),   network.bandwidth()};
  world.step = {step_seconds, backward_share(profile) * step_seconds, profile.gradients};
  for (const std::int64_t count : worlds_up_to(ranks)) {
    world.ring.push_back(world_step(world.step, network, SumAlgorithm::kRing, count));
    world.tree.push_back(world_step(world.step, network, SumAlgorithm::kTree, count));
  }
  if (ranks != world.timed_ranks) {
    notes.push_back(fmt::format(
        "worlds of more than {} ranks are computed from sums over these {}: a simulation of a "
        "network that nobody else uses, with ranks that are all as fast",
        world.timed_ranks, world.timed_ranks));
  }
  return world;
}

}  // namespace harness
