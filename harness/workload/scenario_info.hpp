// What plans, rules and checks have to know of a way to drive a workload. Plain values: the loops
// themselves are in scenario/, above this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// More units than this no scenario can have in one result: the schemas of rules and results.
inline constexpr std::int64_t kMostUnits = 1'000'000;

/// A number that a tier of the rules may give for a scenario, beside the keys that all know.
struct TierKey {
  std::string name{};
  std::string summary{};
  double otherwise = 0;  ///< where the tier does not give it
  double lowest = 0;
  double highest = 0;
  bool whole = false;  ///< no fraction
};

struct ScenarioInfo {
  std::string name{};
  std::string summary{};
  std::string unit{};   ///< what is timed one by one: "step"
  std::string units{};  ///< several; empty: with an s
  /// Seconds of each unit: its speed, and what the tier's lengths are counted in.
  std::string metric{};
  /// It ends with the quality target: the tier's lengths are not asked for.
  bool to_target = false;
  /// Metrics that rules may ask of it: tags, or families that end in a dot.
  std::vector<std::string> gives{};
  /// Of the tier's keys about its length, those that have a meaning here.
  std::vector<std::string> reads{};
  std::vector<std::string> needs{};   ///< of these, those it cannot do without
  std::vector<TierKey> keys{};        ///< further ones, its own
  std::vector<std::string> seeds{};   ///< further kinds of seeds that it draws from
  std::int64_t most_units = 100'000;  ///< timed ones in one result, so that somebody can read it
  bool by_loadgen = false;  ///< MLPerf's LoadGen says how long a run was, and whether it is valid

  std::string plural() const { return units.empty() ? unit + "s" : units; }
  bool reads_key(std::string_view key) const {
    return std::find(reads.begin(), reads.end(), key) != reads.end();
  }
  bool gives_metric(std::string_view tag) const {
    return std::any_of(gives.begin(), gives.end(), [&](const std::string& known) {
      return known.ends_with('.') ? tag.starts_with(known) : tag == known;
    });
  }
};

/// By name.
using ScenarioInfos = std::map<std::string, ScenarioInfo>;

}  // namespace harness
