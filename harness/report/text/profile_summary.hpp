// A profile as text that fits a terminal.
#pragma once

#include <string>

#include "harness/result/profile.hpp"

namespace harness {

/// Tables of at most `columns`, from 80 on; ends with a newline. Text from the profile is made safe
/// to print.
std::string render_summary(const Profile& profile, std::size_t columns = 100);

}  // namespace harness
