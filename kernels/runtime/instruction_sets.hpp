// Which instruction sets our own kernels may use: those that LibTorch's kernels do, so that
// ATEN_CPU_CAPABILITY (default, avx2) limits both.
#pragma once

#include <string>

namespace harness::kernels {

/// The best one that Highway's code paths will use: "AVX3", "AVX2".
std::string vector_target();

}  // namespace harness::kernels
