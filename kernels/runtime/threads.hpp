// How many threads the operators use.
#pragma once

namespace harness::kernels {

/// Threads for ATen, LibTorch's libraries and our own OpenMP regions, which share one OpenMP
/// runtime. Call it on the thread that runs the steps. Throws std::invalid_argument below 1.
void set_threads(int threads);
int threads();

}  // namespace harness::kernels
