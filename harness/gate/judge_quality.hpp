// Whether the candidate still reaches its quality target.
#pragma once

#include <cstddef>

#include "harness/compare/side.hpp"
#include "harness/gate/report.hpp"
#include "harness/gate/tasks.hpp"

namespace harness {

/// How many of its runs were held to a target.
std::size_t judged_runs(const Side& side);

/// The candidate's row. Precondition: it has runs.
GateRow target_row(const GateTask& task);

/// Adds that row where either side was held to a target. Throws Error where some runs were and
/// others were not.
void judge_quality(const GateTask& task, GateReport& report);

}  // namespace harness
