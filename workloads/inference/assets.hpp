// Weights and data that come in other people's packages: quickstart takes them from there, once,
// and what is not byte for byte the file that a task was made for is refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace harness::workloads {

/// $HARNESS_ASSETS, else where quickstart puts them below `home`.
std::filesystem::path assets_folder(const std::filesystem::path& home);

/// Throws Error, with what to do, where the folder or one of `files` is not there: before anything
/// is read or tried.
void require_assets(const std::vector<std::string>& files, const std::filesystem::path& home);

/// Where `file` lies, one of those in assets.json. Throws Error, with what to do, when it is not
/// there or is another file.
std::filesystem::path find_asset(const std::string& file, const std::filesystem::path& home);

}  // namespace harness::workloads
