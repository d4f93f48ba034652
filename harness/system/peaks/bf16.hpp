// bf16 multiply-adds by intrinsics: Highway 1.0.3 has no target for them.
#pragma once

#include "harness/system/peaks/kernels.hpp"

namespace harness {

/// fma.bf16, accumulated in fp32: AMX, else AVX512_BF16, else none.
FlopKernel fma_bf16_kernel();

}  // namespace harness
