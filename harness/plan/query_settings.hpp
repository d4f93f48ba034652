// Settings that only LoadGen's scenarios read.
#pragma once

#include <vector>

#include "harness/result/setting.hpp"

namespace harness {

std::vector<Setting> query_settings();

}  // namespace harness
