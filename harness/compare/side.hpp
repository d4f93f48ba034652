// What is held against something else.
#pragma once

#include <string>
#include <vector>

#include "harness/result/result.hpp"

namespace harness {

/// One set-up: runs of one workload that share everything but their seeds.
struct Side {
  std::string name{};  ///< as given: a file, a folder or a command
  std::vector<Result> runs{};
};

}  // namespace harness
