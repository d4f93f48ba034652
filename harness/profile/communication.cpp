#include "harness/profile/communication.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/error.hpp"

namespace harness {
namespace {

// A larger one is not nearly all latency.
constexpr double kMostForLatency = 65'536;

/// Messages one after the other, and how often each byte is sent.
struct Shape {
  double messages = 0;
  double passes = 0;
};

Shape shape_of(SumAlgorithm algorithm, double ranks) {
  if (algorithm == SumAlgorithm::kRing) return {2 * (ranks - 1), 2 * (ranks - 1) / ranks};
  return {2 * std::ceil(std::log2(ranks)), 2};
}

}  // namespace

Network::Network(std::vector<TimedSum> sums, int ranks) {
  std::sort(sums.begin(), sums.end(),
            [](const TimedSum& a, const TimedSum& b) { return a.bytes < b.bytes; });
  const bool sound =
      ranks >= 2 && sums.size() >= 2 && sums.front().bytes > 0 &&
      std::adjacent_find(sums.begin(), sums.end(),
                         [](const auto& a, const auto& b) { return a.bytes == b.bytes; }) ==
          sums.end() &&
      std::all_of(sums.begin(), sums.end(), [](const TimedSum& sum) { return sum.seconds > 0; });
  if (!sound) {
    throw Error("the network", "needs sums of two sizes over two ranks or more",
                "harness run --workload allreduce --ranks 2 measures some");
  }
  if (sums.front().bytes > kMostForLatency) {
    throw Error("the network", "its smallest sum tells no latency",
                "measure it with one of at most 65536 bytes");
  }
  const Shape shape = shape_of(SumAlgorithm::kRing, ranks);
  // The smallest one is nearly all latency; the rest of it is none.
  latency_ = sums.front().seconds / shape.messages;
  for (std::size_t i = 1; i < sums.size(); ++i) {
    const double streaming = sums[i].seconds - shape.messages * latency_;
    // Where chance made a larger sum the faster one nothing tells its bandwidth.
    if (streaming > 0) points_.push_back({sums[i].bytes, shape.passes * sums[i].bytes / streaming});
  }
  if (points_.empty()) {
    throw Error("the network", "has no larger sum that takes longer than its smallest",
                "measure it anew, with larger ones");
  }
}

double Network::bandwidth_at(double bytes) const {
  const auto above = std::lower_bound(points_.begin(), points_.end(), bytes,
                                      [](const Point& point, double b) { return point.bytes < b; });
  if (above == points_.begin()) return points_.front().bandwidth;
  if (above == points_.end()) return points_.back().bandwidth;
  const Point& below = *(above - 1);
  const double share = std::log(bytes / below.bytes) / std::log(above->bytes / below.bytes);
  return below.bandwidth + share * (above->bandwidth - below.bandwidth);
}

double Network::seconds(SumAlgorithm algorithm, double bytes, int ranks) const {
  if (ranks < 2 || bytes <= 0) return 0;
  const Shape shape = shape_of(algorithm, ranks);
  return shape.messages * latency_ + shape.passes * bytes / bandwidth_at(bytes);
}

WorldStep world_step(const RankStep& step, const Network& network, SumAlgorithm algorithm,
                     std::int64_t ranks) {
  WorldStep world{ranks, step.seconds};
  double until = 0;
  for (const GradientBucket& bucket : step.gradients) {
    const double seconds = network.seconds(algorithm, bucket.bytes, static_cast<int>(ranks));
    until = std::max(until, bucket.ready * step.backward_seconds) + seconds;
    world.under_way += seconds;
  }
  world.exposed = std::max(0.0, until - step.backward_seconds);
  world.seconds += world.exposed;
  world.efficiency = step.seconds / world.seconds;
  return world;
}

std::vector<std::int64_t> worlds_up_to(std::int64_t ranks) {
  std::vector<std::int64_t> worlds;
  for (std::int64_t world = 2; world < ranks; world *= 2) worlds.push_back(world);
  worlds.push_back(ranks);
  return worlds;
}

}  // namespace harness
