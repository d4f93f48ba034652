// Five runs of training, or runs by LoadGen, as MLPerf's package.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace harness {

/// Lays out `files` below the new or empty `folder`; with `rehearsal` also runs that are not
/// MLPerf's own, every file marked. Throws Error.
ExitCode submit_package(const std::vector<std::string>& files, const std::filesystem::path& folder,
                        bool rehearsal);

}  // namespace harness
