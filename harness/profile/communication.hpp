// What several ranks would make of a step that one was seen to take: the sums of its gradients go
// on beside the backward pass, bucket by bucket, and what is not over by its end is waited for.
//
// A sum of b bytes over P ranks, by the usual models of a network where each rank sends and
// receives at once (Thakur, Rabenseifner and Gropp, 2005; Sanders, Speck and Traeff, 2009):
//
//   ring  2 (P - 1) a + 2 (P - 1) / P * b / B(b)       a: latency of a message
//   tree  2 log2(P) a + 2 b / B(b)                     B: bandwidth, by the size of a sum
//
// Both a and B come from sums that were timed over the ranks of one world; other worlds are
// computed. The model knows nothing of a network that is shared, of ranks that wait for a slower
// one, or of what sums take from the processors beside them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/types.hpp"

namespace harness {

/// A sum over the ranks of the measured world, one at a time.
struct TimedSum {
  double bytes = 0;
  double seconds = 0;
};

enum class SumAlgorithm { kRing, kTree };

class Network {
 public:
  /// `sums`, at least two of different sizes, were timed over `ranks`, at least 2, by a ring.
  /// Throws Error for others.
  Network(std::vector<TimedSum> sums, int ranks);

  /// Seconds of a sum. Between the sizes that were timed bandwidth is interpolated over the
  /// logarithm of the size; beyond them it is that of the nearest.
  double seconds(SumAlgorithm algorithm, double bytes, int ranks) const;
  double latency() const { return latency_; }
  /// Of the largest sum, B/s.
  double bandwidth() const { return points_.back().bandwidth; }

 private:
  struct Point {
    double bytes = 0;
    double bandwidth = 0;
  };

  double bandwidth_at(double bytes) const;

  double latency_ = 0;
  std::vector<Point> points_{};  ///< by size
};

/// A step of one rank.
struct RankStep {
  double seconds = 0;
  double backward_seconds = 0;              ///< a part of it
  std::vector<GradientBucket> gradients{};  ///< in the order in which they are summed
};

/// A step of a world in which each rank does the same work.
struct WorldStep {
  std::int64_t ranks = 1;
  double seconds = 0;
  double under_way = 0;   ///< seconds of sums
  double exposed = 0;     ///< of them behind the backward pass, which nothing hides
  double efficiency = 1;  ///< of one rank's step by itself
};

WorldStep world_step(const RankStep& step, const Network& network, SumAlgorithm algorithm,
                     std::int64_t ranks);

/// A step of one rank in worlds of more.
struct WorldProjection {
  std::string network_file{};
  std::string engine{};          ///< of the sums that were timed
  std::int64_t timed_ranks = 0;  ///< over which they were
  std::int64_t timed_nodes = 0;
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< B/s
  RankStep step{};
  std::vector<WorldStep> ring{};  ///< by the number of ranks
  std::vector<WorldStep> tree{};
};

/// 2, 4, 8 and so on below `ranks`, and `ranks`.
std::vector<std::int64_t> worlds_up_to(std::int64_t ranks);

}  // namespace harness
