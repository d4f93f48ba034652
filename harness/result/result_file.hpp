// Result files: written whole and checked, or not at all; read only when they can be trusted.
#pragma once

#include <filesystem>
#include <string>

#include "harness/result/result.hpp"

namespace harness {

/// The content of `result`'s file: its document with a digest. Throws std::logic_error when it does
/// not fit its own schema, or is of no registered kind.
std::string content_of_file(const ResultCommon& result);
/// The same of a result that was read from a sound file: its schema is not checked again.
std::string content_as_read(const ResultCommon& result);

/// Writes content_of_file() to `path`, atomically. Throws Error when the file cannot be written.
void write_result_file(const ResultCommon& result, const std::filesystem::path& path);

/// The run in `path`, whatever its status. Throws Error with the first problem that
/// validate_result_file() finds.
Result read_result_file(const std::filesystem::path& path);

}  // namespace harness
