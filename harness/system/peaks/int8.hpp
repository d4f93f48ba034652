// The peak of products in eight bits.
#pragma once

#include "harness/system/peaks/kernels.hpp"

namespace harness {

/// fma.int8, unsigned by signed, added in 32 bits: AMX, else AVX-512 or AVX with VNNI, else
/// AVX-512 or AVX2 in three instructions, else none. A multiply-add counts two operations.
FlopKernel fma_int8_kernel();

}  // namespace harness
