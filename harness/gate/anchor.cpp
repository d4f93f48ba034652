#include "harness/gate/anchor.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/differences.hpp"
#include "harness/gate/lockstep_columns.hpp"
#include "harness/gate/report.hpp"
#include "harness/gate/sides.hpp"

namespace harness {

std::optional<AnchorTrouble> anchor_trouble(const Side& anchor, const Side& candidate,
                                            const GateRules& rules) {
  GateReport beside;
  try {
    check_gate_side(anchor, rules.allow_debug, beside);
    refuse_missed(anchor);
    find_differences(anchor.runs.front(), candidate.runs.front(), true, beside);
    // Its steps are what counts: it may pass an older exam.
    std::erase_if(beside.forbidding,
                  [](const GateDifference& one) { return one.name == kChecksDiffer; });
    if (beside.forbidding.empty()) {
      columns_of_results(anchor, candidate, rules.lockstep.anchor_metrics);
      return std::nullopt;
    }
  } catch (const Error& error) {
    return AnchorTrouble{error.what_failed() + ": " + error.why(), false};
  }
  const std::string& first = beside.forbidding.front().name;
  return AnchorTrouble{printable(first, 60) + " differs: choose a newer one",
                       beside.forbidding.size() == 1 && first == kRulesDiffer};
}

}  // namespace harness
