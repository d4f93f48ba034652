// An ablation as text that fits a terminal.
#pragma once

#include <string>

#include "harness/kinds/ablation/ablation.hpp"

namespace harness {

/// A line for each variant; at most 100 columns, ends with a newline. Text from the result is made
/// safe to print.
std::string render_summary(const Ablation& ablation);

}  // namespace harness
