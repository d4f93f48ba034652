// Plots of one profile: its primitives, its memory.
#pragma once

#include <optional>

#include "harness/profile/tables.hpp"
#include "harness/report/html_data.hpp"

namespace harness {

/// What oneDNN and our kernels took of a step, the longest first; empty without any.
std::optional<PagePlot> primitives_plot(const ProfileTables& tables);
/// Memory in use over the first recorded step; empty where it was not watched.
std::optional<PagePlot> memory_plot(const ProfileTables& tables);

}  // namespace harness
