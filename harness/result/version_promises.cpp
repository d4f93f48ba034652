#include "harness/result/version_promises.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// From which minor version on; 0: such files have none.
struct Promises {
  const char* kind;
  std::int64_t bound;
  std::int64_t quartiles;
};

constexpr std::array kPromises = {Promises{"run", 6, 7}, Promises{"profile", 3, 4},
                                  Promises{"ablation", 3, 0}};

bool lacks(const json& object, const char* member, const char* goes_with) {
  return object.contains(goes_with) && !object.at(goes_with).is_null() && !object.contains(member);
}

}  // namespace

std::vector<SchemaProblem> broken_promises(const json& document) {
  const std::string version = document.at("schema_version");
  const std::int64_t minor = parse_integer(split(version, '.').at(1)).value_or(0);
  std::vector<SchemaProblem> problems;
  const auto expect = [&](const json& object, const std::string& path, const char* member,
                          const char* goes_with) {
    if (!lacks(object, member, goes_with)) return;
    problems.push_back(
        {path + "/" + member, fmt::format("missing, which goes with '{}' in version {}", goes_with,
                                          printable(version, 20))});
  };
  for (const Promises& promises : kPromises) {
    if (document.at("kind") != promises.kind) continue;
    if (promises.bound > 0 && minor >= promises.bound) {
      const json peaks = document.value("peaks", json::array());
      for (std::size_t i = 0; i < peaks.size(); ++i) {
        expect(peaks[i], fmt::format("/peaks/{}", i), "bound", "value");
      }
    }
    if (promises.quartiles == 0 || minor < promises.quartiles) continue;
    // No copy: there may be a million samples.
    const json& metrics = document.at("metrics");
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      expect(metrics[i].at("summary"), fmt::format("/metrics/{}/summary", i), "quartiles",
             "median");
    }
  }
  return problems;
}

}  // namespace harness
