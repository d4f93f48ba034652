// One run from plan to result: the parts of harness/ wired together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/result/result.hpp"
#include "harness/run/plan.hpp"

namespace harness {

/// Where one run stands in its series.
struct SeriesPosition {
  std::string series_id{};
  std::int64_t index = 1;
  std::int64_t count = 1;
};

/// Measures and returns the result with its status; writes samples beside the result-to-be as
/// `STEM.jsonl` in `out`. Throws Error when nothing could be measured.
Result measure(RunPlan& plan, const SeriesPosition& position, const std::filesystem::path& out,
               const std::string& stem, const std::vector<std::string>& command_line);

/// A random (version 4) UUID.
std::string new_uuid();

}  // namespace harness
