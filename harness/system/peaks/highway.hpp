// fp32, fp64 and copy in one source for all targets; Highway compiles it once for each and picks
// the widest at run time.
#pragma once

#include <cstddef>
#include <string>

#include "harness/system/peaks/kernels.hpp"

namespace harness {

/// fma.fp32 and fma.fp64 with the widest vectors that Highway knows for this CPU.
FlopKernel fma_fp32_kernel();
FlopKernel fma_fp64_kernel();
/// Copies with stores that bypass the caches where the CPU has them. Both ends aligned to 64,
/// `bytes` a multiple of 1024.
void stream_copy(const void* from, void* to, std::size_t bytes);
/// How stream_copy() stores.
std::string stream_copy_method();

}  // namespace harness
