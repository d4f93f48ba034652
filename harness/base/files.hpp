// Files: bounded reading, writing that leaves either the old or the whole new file, finding our
// own.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace harness {

/// The whole file. Throws Error when it is missing, not a regular file, unreadable, or larger than
/// `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit);

/// Writes a temporary file beside `path`, fsyncs it, renames it over `path`, fsyncs the folder.
/// Throws Error naming the reason (no space, read-only, ...); no temporary file is left behind.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Creates a folder and its parents, and checks that a file can be written there.
void make_writable_folder(const std::filesystem::path& path);

/// The folder that holds rules/, results/schema/ and golden data: $HARNESS_HOME, else the nearest
/// one upwards from the executable (a source tree, or share/harness beside bin/ where it is
/// installed), else the source tree this binary was built from. Throws Error when there is none.
std::filesystem::path home_folder();

/// $XDG_CACHE_HOME/harness or ~/.cache/harness.
std::filesystem::path cache_folder();

}  // namespace harness
