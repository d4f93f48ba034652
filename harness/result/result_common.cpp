#include "harness/result/result_common.hpp"

#include <algorithm>

namespace harness {

bool missed_target(const Status& status) {
  return status.state == RunState::kAborted &&
         std::any_of(status.violations.begin(), status.violations.end(),
                     [](const Violation& violation) { return violation.rule == kConvergedRule; });
}

bool was_stopped(const Status& status) {
  return status.state == RunState::kAborted && !missed_target(status);
}

}  // namespace harness
