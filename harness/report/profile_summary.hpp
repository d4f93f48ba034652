// A profile as text that fits a terminal.
#pragma once

#include <string>

#include "harness/result/profile.hpp"

namespace harness {

/// At most 100 columns; ends with a newline. Text from the profile is made safe to print.
std::string render_summary(const Profile& profile);

}  // namespace harness
