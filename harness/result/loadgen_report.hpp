// What MLPerf's LoadGen made of a run: the figures are its own, read from its log.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/result/set_up_trials.hpp"

namespace harness {

/// Latencies counted in bins of equal width on a logarithmic scale, a hundred a decade from 100 ns
/// to 1,000 s. What is outside counts in the first or the last bin.
class LatencyHistogram {
 public:
  static constexpr double kLowest = 1e-7;  ///< seconds, where bin 0 begins
  static constexpr int kPerDecade = 100;
  static constexpr std::size_t kBins = 1000;

  void add(double seconds);
  void put(std::size_t bin, std::int64_t count) { counts_.at(bin) = count; }
  const std::array<std::int64_t, kBins>& counts() const { return counts_; }
  std::int64_t total() const;
  bool operator==(const LatencyHistogram&) const = default;

 private:
  std::array<std::int64_t, kBins> counts_{};
};

struct LatencyPercentile {
  double percentile = 0;  ///< 50, 90, 99.9
  double seconds = 0;
};

/// The one number that a scenario is for.
struct LoadGenFigure {
  std::string tag{};   ///< latency.p90, throughput.offline
  std::string unit{};  ///< s, samples/s
  double value = 0;
};

/// Of times less is better, of rates more.
Direction direction_of(const LoadGenFigure& figure);

/// A rate of the server scenario that was tried for a short while.
struct ServerProbe {
  double rate = 0;     ///< queries per second
  double latency = 0;  ///< at the percentile that counts, seconds
  bool met = false;    ///< it was within the bound
};

/// A whole test that was made once more, and does not count.
struct RepeatedTest {
  std::string why{};
  std::string logs{};  ///< their folder, in that of the run's logs
};

/// A file beside the result.
struct FileHash {
  std::string file{};  ///< its path from the result's folder on
  std::string sha256{};
};

struct LoadGenReport {
  std::string version{};               ///< as its log has it
  std::string sources_sha256{};        ///< of what it was built of
  std::string audit{};                 ///< TEST01 or TEST04; empty: none
  std::int64_t queries = 0;            ///< answered; of the offline scenario its samples
  double seconds = 0;                  ///< from the first query's time until the last one's end
  bool valid = false;                  ///< as LoadGen says, and its clock was right
  std::vector<std::string> reasons{};  ///< why not
  LoadGenFigure figure{};
  std::vector<LatencyPercentile> percentiles{};  ///< of a query; of offline, of a sample
  /// Every number of its log about the outcome, by LoadGen's names.
  std::map<std::string, double> log{};
  nlohmann::json requested = nlohmann::json::object();  ///< settings by LoadGen's names
  nlohmann::json effective = nlohmann::json::object();
  LatencyHistogram histogram{};          ///< of queries; of offline, of batches
  std::vector<ServerProbe> search{};     ///< for the highest valid rate, in order
  std::vector<RepeatedTest> repeated{};  ///< before the test that counts, in order
  std::optional<SetUpTrials> set_up{};   ///< where threads or batch size were chosen by measuring
  std::vector<FileHash> files{};         ///< its logs, and the samples file with every latency
};

/// Tag, unit and place in LoadGen's log of what a scenario is for.
struct FigureOfScenario {
  std::string_view scenario{};
  std::string_view tag{};
  std::string_view unit{};
  std::string_view key{};  ///< of `log`
  double scale = 1;        ///< from the log's unit
};

/// Null for a scenario that is not one of LoadGen's.
const FigureOfScenario* figure_of_scenario(std::string_view scenario);

}  // namespace harness
