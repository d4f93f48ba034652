// Settings that say in how many processes and threads the work is done, and on which CPUs.
#pragma once

#include <vector>

#include "harness/result/setting.hpp"

namespace harness {

std::vector<Setting> process_settings();

}  // namespace harness
