// Which libraries really run.
#pragma once

#include <map>
#include <string>

namespace harness::kernels {

/// `libtorch`, `libtorch_onednn` and `libtorch_mkl` (the private copies inside LibTorch),
/// `cpu_capability` (of ATen), `onednn` (ours, at run time), `openmp` (the standard) and
/// `openmp_library` (the file). Throws std::runtime_error when the oneDNN that was loaded is not
/// the one the headers are of.
std::map<std::string, std::string> library_versions();

}  // namespace harness::kernels
