// The files that a stopped run is resumed from: JSON with a hash of itself, so that whatever was
// damaged is noticed.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace harness {

/// The hint of an error that no resuming mends.
inline constexpr const char* kStartAnew = "start a new run in another folder";

/// Writes `document`, an object with a member "format", and its hash to `path`, atomically. Throws
/// Error when the disk takes no more.
void write_saved_json(const std::filesystem::path& path, nlohmann::json document);

/// What write_saved_json() wrote. Throws Error, in words of our own, for a file that is missing,
/// damaged, or not of `format`.
nlohmann::json read_saved_json(const std::filesystem::path& path, const std::string& format);

/// Calls `read`, which takes the values out of what was read from `path`. Throws Error where one is
/// missing, of another type, or (std::out_of_range) cannot be.
void take_saved(const std::filesystem::path& path, const std::function<void()>& read);

}  // namespace harness
