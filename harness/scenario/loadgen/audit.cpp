#include "harness/scenario/loadgen/audit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"

namespace harness::loadgen {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestLog = std::size_t{1} << 30;
// The scripts mean the fifth for short latencies, and by their units take every one for short.
constexpr double kAllowed = 0.1;
constexpr double kAllowedOfLatency = 0.2;

json entries(const std::filesystem::path& file) {
  json list = json::parse(read_file(file, kLargestLog), nullptr, false);
  if (list.is_array()) return list;
  throw Error(printable(file.string()), "is no log of LoadGen's with answers");
}

}  // namespace

std::string differing_answers(const std::filesystem::path& audit,
                              const std::filesystem::path& accuracy) {
  std::map<std::int64_t, std::string> expected;
  for (const json& entry : entries(accuracy)) expected[entry.at("qsl_idx")] = entry.at("data");
  const json logged = entries(audit);
  if (logged.empty()) return "TEST01: no answer was logged while it was timed";
  std::int64_t different = 0;
  for (const json& entry : logged) {
    const auto known = expected.find(entry.at("qsl_idx").get<std::int64_t>());
    if (known == expected.end() || known->second != entry.at("data").get<std::string>()) {
      ++different;
    }
  }
  if (different == 0) return {};
  return fmt::format(
      "TEST01: {} of {} answers logged while it was timed are not those of the test "
      "of accuracy",
      different, logged.size());
}

std::string differing_speed(const std::string& name, double figure, double audited, bool latency) {
  // Above 1: the audited test was the faster one.
  const double ratio = latency ? figure / audited : audited / figure;
  const double allowed = latency ? kAllowedOfLatency : kAllowed;
  const bool slower = name == "TEST01" && ratio < 1 - allowed;
  if (std::isfinite(ratio) && !slower && ratio <= 1 + allowed) return {};
  return fmt::format("{}: {:.3g} times as fast as without it; {}{:g} is allowed", name, ratio,
                     name == "TEST01" ? fmt::format("{:g} to ", 1 - allowed) : "at most ",
                     1 + allowed);
}

}  // namespace harness::loadgen
