// Tables of kernels as files.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/tuning.hpp"

namespace harness {

/// The table that comes with the program for these instructions: HOME/kernels/tuning/NAME.json,
/// which need not be there.
std::filesystem::path tuning_file(const std::filesystem::path& home,
                                  const std::string& instruction_set);

/// Throws Error for a file that is missing, damaged or no such table, naming the place in it.
/// Whether its kernels exist is seen by who has them.
TuningTable load_tuning(const std::filesystem::path& file, const std::filesystem::path& home);

/// As a file holds it, a line a problem.
std::string tuning_text(const TuningTable& table);

}  // namespace harness
