// The parts of capture_system() that tell of the software.
#pragma once

#include "harness/system/system_root.hpp"

namespace harness {

void capture_os(const SystemRoot& root, Facts& facts);
void capture_build(Facts& facts);

}  // namespace harness
