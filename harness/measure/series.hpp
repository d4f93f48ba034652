// A series: each run in a process of its own, since processes differ by more than steps do.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/measure.hpp"

namespace harness {

/// What a run of a series is told by the process that runs the series.
struct SeriesOrder {
  SeriesPosition position{};
  std::uint32_t seed = 0;
  std::filesystem::path out{};
};

/// Whether this process runs one run of a series.
bool in_series();

/// The order handed down through the environment; empty in the process that runs the series.
std::optional<SeriesOrder> inherited_order();

/// Runs this program once more with the same arguments under `order`; returns its exit code
/// (kAborted when it was killed). A request to stop this process is passed on.
ExitCode run_child(const std::vector<std::string>& arguments, const SeriesOrder& order);

}  // namespace harness
