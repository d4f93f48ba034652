// Rules that somebody else wrote, and a result judged by them.
#include "harness/workload/rules.hpp"
#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/result/result_json.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/workload/rules_file.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/sample_result.hpp"

namespace harness {

void fuzz_rules(std::string_view bytes) {
  static const std::filesystem::path home = home_folder();
  static const Result result = sample_result();
  static const nlohmann::json document = to_json(result);
  Rules rules;
  try {
    rules = parse_rules(std::string(bytes), home, home / "rules/null.json", scenario_infos());
  } catch (const Error& error) {
    promise_printable(error.what());
    return;
  }
  for (const auto& [name, tier] : rules.tiers) {
    for (const std::string& scenario : tier.scenario_names()) {
      const Rules in_tier = rules.in_tier(name, scenario);
      find_departures(in_tier.closed, document);
      check_rules(in_tier, scenario_infos().at("steps"), result, document);
    }
  }
}

}  // namespace harness
