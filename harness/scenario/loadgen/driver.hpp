// MLPerf's LoadGen issues the queries, and we answer: the only file that sees its headers is
// driver.cpp. A build without LoadGen has no_driver.cpp in its place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/scenario/loadgen/test_plan.hpp"

namespace harness::loadgen {

/// A query that was answered; of offline a batch of its one query.
struct Answered {
  std::int64_t samples = 0;
  double seconds = 0;  ///< from when it was to come until its answer, by LoadGen's own clock; of a
                       ///< batch from its beginning
};

/// What a test asks of the system under test. All is called by the thread that called run_test().
class SystemUnderTest {
 public:
  using Samples = std::vector<std::int64_t>;
  virtual ~SystemUnderTest() = default;

  virtual void load(const Samples& samples) = 0;
  /// Rows of numbers, one a sample; all of one length.
  virtual std::vector<float> answer(const Samples& samples) = 0;
  /// Behind each answer, outside of the time of any query of a stream. With accuracy also the rows.
  virtual void answered(const Answered& one, const Samples& samples,
                        const std::vector<float>& rows) = 0;
  /// Whether to end at once.
  virtual bool stop_requested() = 0;
  /// Samples that are answered together at most: of offline, and of a server's waiting queries.
  virtual std::int64_t batch() const = 0;
};

struct TestClock {
  double steady = 0;   ///< seconds that the test took by the monotonic clock
  double loadgen = 0;  ///< and by LoadGen's, which follows the time of day
};

/// Empty where this build has LoadGen; else why not, and what to do.
std::string why_unavailable();
/// SHA-256 over LoadGen's sources, as they were built; empty without.
std::string sources_sha256();

/// Runs one test, its logs in `folder`, which must exist. One at a time in a process. Throws
/// Interrupted where it was asked to stop, with the folder marked; what `system` throws.
TestClock run_test(const TestPlan& plan, SystemUnderTest& system,
                   const std::filesystem::path& folder);

}  // namespace harness::loadgen
