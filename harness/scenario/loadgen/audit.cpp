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
constexpr double kAllowed = 0.1;

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
    if (known == expected.end() || known->second != entry.at("data")) ++different;
  }
  if (different == 0) return {};
  return fmt::format(
      "TEST01: {} of {} answers logged while it was timed are not those of the test "
      "of accuracy",
      different, logged.size());
}

std::string differing_speed(const std::string& name, double figure, double audited, bool higher) {
  // Above 1: the audited test was the faster one.
  const double ratio = higher ? audited / figure : figure / audited;
  const bool slower = name == "TEST01" && ratio < 1 - kAllowed;
  const bool faster = name == "TEST04" && ratio > 1 + kAllowed;
  if (std::isfinite(ratio) && !slower && !faster) return {};
  return fmt::format("{}: {:.3g} times as fast as without it, {} is allowed", name, ratio,
                     name == "TEST01" ? "0.9 or more" : "1.1 or less");
}

}  // namespace harness::loadgen
