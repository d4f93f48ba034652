#include "harness/measure/identity.hpp"

#include <fmt/format.h>

#include <random>

#include "harness/base/text.hpp"
#include "harness/base/version.hpp"

namespace harness {

std::string new_uuid() {
  std::random_device device;
  std::string text;
  for (int i = 0; i < 4; ++i) text += fmt::format("{:08x}", device());
  text[12] = '4';                                               // version 4, random
  text[16] = "89ab"[static_cast<unsigned char>(text[16]) % 4];  // variant 1
  for (const std::size_t dash : {8U, 13U, 18U, 23U}) text.insert(dash, "-");
  return text;
}

Identity make_identity(const SeriesPosition& position,
                       const std::vector<std::string>& command_line) {
  Identity identity;
  identity.uuid = new_uuid();
  identity.series_id = position.series_id;
  identity.run_index = position.index;
  identity.run_count = position.count;
  identity.started_at = utc_now();
  identity.harness_version = version().version;
  identity.git_commit = version().git_commit;
  identity.git_dirty = version().git_dirty;
  identity.command_line = command_line;
  return identity;
}

RulesReference refer_to(const Rules& rules, const std::string& tier,
                        const std::vector<Departure>& departures) {
  return {rules.workload, rules.file, rules.version, rules.sha256, tier, "", departures, false};
}

}  // namespace harness
