#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/process.hpp"

namespace harness {

/// By the program that has what this folder adds.
inline Outcome run_added(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment = {}) {
  const std::filesystem::path program =
      std::filesystem::path(harness_program()).parent_path() / "harness_added";
  return Process(arguments, environment, {}, program.string()).wait();
}

}  // namespace harness
