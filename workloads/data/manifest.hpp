// A data folder's manifest.json: which files it has and what each hashes to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/data/parallel.hpp"

namespace harness::workloads {

constexpr std::string_view kManifestFormat = "harness-data/1";

/// Content of a manifest: {"format": "harness-data/1", "dataset": NAME, "details": {KEY: TEXT,
/// ...}, "files": {RELATIVE PATH: SHA-256, ...}}.
struct Manifest {
  std::string dataset{};
  std::map<std::string, std::string>
      details{};  ///< for our own scenes: set, version, frozen hashes
  std::map<std::string, std::string> files{};
};

std::string to_json(const Manifest& manifest);

/// folder/manifest.json; empty when there is none or it is some other program's. Throws Error when
/// it cannot be read, or says it is ours and breaks the format.
std::optional<Manifest> read_manifest(const std::filesystem::path& folder);

/// What verify_files() does with a file of the manifest whose hash is right. Called from several
/// threads at once, once a file.
using LookAtFile = std::function<void(const std::string& file, const std::string& content)>;

/// Hashes every file of the manifest, in parallel. Throws Error naming the first file that is
/// missing or differs; `hint` says what to do then. With `look` each file is read whole (so the
/// files are small) and handed on: nothing is read twice. Returns the bytes read.
std::int64_t verify_files(const std::filesystem::path& folder, const Manifest& manifest,
                          const std::string& hint, const Preparation& preparation,
                          const LookAtFile& look = {});

/// Throws Error unless `name` is a relative path that stays inside its folder: not absolute, no
/// `..`, no control characters, at most 1024 bytes. `where` names the file that holds it.
void check_relative_path(const std::string& name, const std::string& where);

}  // namespace harness::workloads
