#include "harness/check/judged_kind.hpp"

#include "harness/base/files.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/workload/rules_file.hpp"

namespace harness {

Rules JudgedKind::rules_of(const ResultCommon& result) const {
  return load_rules(home_folder(), result.rules.workload, scenario_infos())
      .in_tier(result.rules.tier, result.rules.scenario);
}

}  // namespace harness
