#include "harness/report/text/world_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

double gradient_bytes(const RankStep& step) {
  double bytes = 0;
  for (const GradientBucket& bucket : step.gradients) bytes += bucket.bytes;
  return bytes;
}

json steps_json(const std::vector<WorldStep>& steps) {
  json list = json::array();
  for (const WorldStep& step : steps) {
    list.push_back({{"ranks", step.ranks},
                    {"seconds", step.seconds},
                    {"under_way_seconds", step.under_way},
                    {"exposed_seconds", step.exposed},
                    {"efficiency", step.efficiency}});
  }
  return list;
}

}  // namespace

std::string render_world(const WorldProjection& world) {
  const auto seconds = [](double value) { return format_quantity(value, "s"); };
  std::string text = fmt::format("{:>6} {:>11} {:>11} {:>11} {:>8}   {:>11} {:>8}\n", "ranks",
                                 "ring: step", "sums", "waited for", "of 1", "tree: step", "of 1");
  for (std::size_t i = 0; i < world.ring.size(); ++i) {
    const WorldStep& ring = world.ring[i];
    const WorldStep& tree = world.tree[i];
    text += fmt::format("{:>6} {:>11} {:>11} {:>11} {:>6.1f} %   {:>11} {:>6.1f} %\n", ring.ranks,
                        seconds(ring.seconds), seconds(ring.under_way), seconds(ring.exposed),
                        100 * ring.efficiency, seconds(tree.seconds), 100 * tree.efficiency);
  }
  text += fmt::format(
      "network   {} and {}, by sums over {} ranks on {}, {}\n"
      "gradients {} in {}, ready beside a backward pass of {}\n\n",
      format_quantity(world.bandwidth, "B/s"), seconds(world.latency), world.timed_ranks,
      format_count(world.timed_nodes, "machine"), printable(world.engine, 40),
      format_quantity(gradient_bytes(world.step), "B"),
      format_count(std::ssize(world.step.gradients), "bucket"),
      seconds(world.step.backward_seconds));
  return text;
}

json to_json(const WorldProjection& world) {
  return {{"network",
           {{"file", world.network_file},
            {"engine", world.engine},
            {"ranks", world.timed_ranks},
            {"nodes", world.timed_nodes},
            {"latency_seconds", world.latency},
            {"bandwidth", world.bandwidth}}},
          {"gradient_bytes", gradient_bytes(world.step)},
          {"backward_seconds", world.step.backward_seconds},
          {"ring", steps_json(world.ring)},
          {"tree", steps_json(world.tree)}};
}

}  // namespace harness
