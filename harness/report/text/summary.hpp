// A result as text that fits a terminal.
#pragma once

#include <string>

#include "harness/result/result.hpp"

namespace harness {

/// At most 100 columns; ends with a newline. Text from the result is made safe to print.
std::string render_summary(const Result& result);

}  // namespace harness
