// One run in several processes of this machine: starts them, watches them, ends them when one is
// lost, and makes one result of what they hand over.
#pragma once

#include "harness/measure/measure.hpp"
#include "harness/plan/plan.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// As measure() does, in `plan.ranks` processes. All are gone when it returns. Where one is lost,
/// or stands still, the result is aborted and holds what the others measured until then. Throws
/// Error, that of the first rank which has one of its own, when nothing could be measured.
Result measure_in_ranks(const RunPlan& plan, const MeasureTask& task);

}  // namespace harness
