// Settings that only some scenarios read.
#pragma once

#include <vector>

#include "harness/result/setting.hpp"

namespace harness {

std::vector<Setting> scenario_settings();

}  // namespace harness
