// A suite's result as text for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "harness/kinds/suite/suite.hpp"

namespace harness {

/// A line for each task and scenario, then the score with what counts in it and what does not; at
/// most `columns` wide, from 80 on.
std::string render_summary(const Suite& suite, std::size_t columns);

}  // namespace harness
