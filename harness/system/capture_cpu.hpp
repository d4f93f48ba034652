// The part of capture_system() that tells of the processor.
#pragma once

#include "harness/system/system_root.hpp"

namespace harness {

// The parts of capture_system(), each filling its own section.
void capture_cpu(const SystemRoot& root, Facts& facts);

}  // namespace harness
