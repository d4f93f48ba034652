// What is kept of the queries of a test.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/result/loadgen_report.hpp"

namespace harness::loadgen {

class Latencies {
 public:
  /// Of queries, or of the batches of an offline test.
  explicit Latencies(bool offline);

  void add(std::int64_t step, bool warmup, double seconds);
  void forget_timed();
  /// Of the timed ones.
  const LatencyHistogram& histogram() const { return histogram_; }
  /// All samples of the warm-up, and of the others as many as a result holds, at equal distances.
  /// Leaves nothing behind.
  Metric take();

 private:
  struct One {
    std::int64_t step = 0;
    bool warmup = false;
    double seconds = 0;
  };

  Metric what_{};  ///< without samples
  LatencyHistogram histogram_{};
  std::vector<One> all_{};
};

/// The median of the second half: the first ones are slower. Precondition: there is one.
double usual_of_warm_up(std::vector<double> seconds);

}  // namespace harness::loadgen
