// The roofline of a profile.
#pragma once

#include <optional>

#include "harness/report/html_data.hpp"
#include "harness/result/profile.hpp"

namespace harness {

/// Primitives, and operators whose work and traffic are known, under the peaks that the profile's
/// machine showed; empty without any such.
std::optional<PagePlot> profile_roofline(const Profile& profile);

}  // namespace harness
