// Result files: written whole and checked, or not at all; read only when they can be trusted.
#pragma once

#include <filesystem>
#include <string>

#include "harness/result/ablation.hpp"
#include "harness/result/profile.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Writes `result` with its digest to `path`, atomically, and returns the digest. Throws
/// std::logic_error, before anything is written, when the result does not fit its own schema, and
/// Error when the file cannot be written.
std::string write_result_file(const Result& result, const std::filesystem::path& path);
std::string write_result_file(const Profile& profile, const std::filesystem::path& path);
std::string write_result_file(const Ablation& ablation, const std::filesystem::path& path);

/// What write_result_file() writes.
std::string content_of_file(const Result& result);
std::string content_of_file(const Ablation& ablation);

/// The run in `path`, whatever its status. Throws Error with the first problem that
/// validate_result_file() finds.
Result read_result_file(const std::filesystem::path& path);

}  // namespace harness
