#include "harness/kinds/kinds.hpp"

#include "harness/kinds/ablation/kind.hpp"
#include "harness/kinds/profile.hpp"
#include "harness/kinds/run.hpp"
#include "harness/kinds/suite/kind.hpp"

namespace harness {

void register_result_kinds() {
  static const bool done = [] {
    // A line for each of ours, in the order in which reports count them.
    register_result_kind(run_kind());
    register_result_kind(ablation_kind());
    register_result_kind(profile_kind());
    register_result_kind(suite_kind());
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace harness
