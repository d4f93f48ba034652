// What the files of a run are called.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// The name, without an extension, of the files of a run that is tried for the first time.
std::string first_stem(const std::string& workload, std::int64_t run_index,
                       const std::string& series_id);

/// That name, or one with -2, -3, ... behind it, that nothing in `out` has yet: what an earlier try
/// left is kept.
std::string free_stem(const std::string& first, const std::filesystem::path& out);

/// The files in `folder` with that name, those of later tries included, and that extension.
std::vector<std::filesystem::path> files_of_run(const std::filesystem::path& folder,
                                                const std::string& first,
                                                const std::string& extension);

}  // namespace harness
