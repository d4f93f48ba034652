// The primitives of a profile as problem files of benchdnn, oneDNN's own test program, so that
// another build or version of the library can be asked the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/profile/projection.hpp"

namespace harness {

/// Text of a file by the name of the driver it is for (conv, matmul, reorder): to be run with
/// `benchdnn --DRIVER --mode=P --batch=FILE`. One problem a line, a comment line before it says how
/// often a step runs it. Kernels of our own and kinds that benchdnn is not told of are left out.
std::map<std::string, std::string> benchdnn_files(const std::vector<ReplayTask>& tasks);

}  // namespace harness
