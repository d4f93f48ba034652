// Whether the turns of an ablation are those of whole rounds, in their order, with as many steps as
// the settings say.
#pragma once

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/result/consistency_common.hpp"

namespace harness {

void check_turns(const Ablation& ablation, ProblemList& problems);

}  // namespace harness
