// What one thread does of a depthwise convolution, in the vectors of the best instruction set that
// the machine has.
#pragma once

#include <cstdint>

#include "kernels/convolution/depthwise.hpp"

namespace harness::kernels::depthwise {

/// Channels from `begin` to `end` of one row of the output; rows of all pictures count on.
using ConvolveRow = void(const Depthwise& convolution, std::int64_t row, std::int64_t begin,
                         std::int64_t end);

ConvolveRow* convolve_row();
/// "AVX3".
const char* target_name();

}  // namespace harness::kernels::depthwise
