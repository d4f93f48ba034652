// An ablation from plan to result: the parts of harness/ wired together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/plan/ablation_plan.hpp"
#include "harness/result/ablation.hpp"

namespace harness {

/// Measures all variants of `plan` interleaved and returns the result with its status; writes every
/// step to `samples` as it comes. Throws Error when nothing could be measured.
Ablation measure_ablation(AblationPlan& plan, const std::filesystem::path& samples,
                          const std::vector<std::string>& command_line);

/// Bytes that variants need when all are alive and one at a time runs a step. Those of one
/// allocator run in the same memory, but what one allocator keeps the other cannot use.
struct MemoryNeed {
  std::string allocator{};
  double resident = 0;  ///< between steps
  double peak = 0;      ///< during a step, `resident` included
};
double interleaved_memory(const std::vector<MemoryNeed>& variants);

}  // namespace harness
