// One run from plan to result: the parts of harness/ wired together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/commands/result_parts.hpp"
#include "harness/result/result.hpp"
#include "harness/run/plan.hpp"

namespace harness {

/// Measures and returns the result with its status; writes samples beside the result-to-be as
/// `STEM.jsonl` in `out`. Throws Error when nothing could be measured.
Result measure(RunPlan& plan, const SeriesPosition& position, const std::filesystem::path& out,
               const std::string& stem, const std::vector<std::string>& command_line);

}  // namespace harness
