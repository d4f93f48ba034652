#include "workloads/data/manifest.hpp"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxManifest = std::size_t{512} << 20;
constexpr std::size_t kMaxLookedAt = std::size_t{64} << 20;

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

void check_relative_path(const std::string& name, const std::string& where) {
  const auto refuse = [&](const char* why) {
    return Error(where, "the file name \"" + printable(name, 80) + "\" " + why);
  };
  if (name.empty()) throw refuse("is empty");
  if (name.size() > 1024) throw refuse("is longer than 1024 bytes");
  if (name.front() == '/') throw refuse("is an absolute path");
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) throw refuse("has control characters");
  }
  for (const std::string& part : split(name, '/')) {
    if (part == "..") throw refuse("leaves the data folder");
  }
}

std::string to_json(const Manifest& manifest) {
  nlohmann::ordered_json json;
  json["format"] = kManifestFormat;
  json["dataset"] = manifest.dataset;
  json["details"] = manifest.details;
  json["files"] = manifest.files;
  return json.dump(1) + "\n";
}

std::optional<Manifest> read_manifest(const fs::path& folder) {
  const fs::path path = folder / "manifest.json";
  const std::string name = printable(path.string());
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return std::nullopt;

  const nlohmann::json json = read_json_file(path, {.file_bytes = kMaxManifest});
  if (!json.is_object() || !json.contains("format") || !json["format"].is_string() ||
      !json["format"].get_ref<const std::string&>().starts_with("harness-data/")) {
    return std::nullopt;
  }
  if (json["format"] != kManifestFormat) {
    throw Error(name,
                "format " + printable(json["format"].get<std::string>(), 40) + " is not known here",
                "this program reads " + std::string(kManifestFormat));
  }
  Manifest manifest;
  const auto texts = [&](const char* key, std::map<std::string, std::string>& into) {
    if (!json.contains(key) || !json[key].is_object()) {
      throw Error(name, std::string("has no object \"") + key + "\"");
    }
    for (const auto& [entry, value] : json[key].items()) {
      if (!value.is_string()) {
        throw Error(name, std::string(key) + "." + printable(entry, 80) + " is not a text");
      }
      into[entry] = value.get<std::string>();
    }
  };
  if (json.contains("dataset") && json["dataset"].is_string()) {
    manifest.dataset = json["dataset"].get<std::string>();
  }
  texts("details", manifest.details);
  texts("files", manifest.files);
  for (const auto& [file, hash] : manifest.files) {
    check_relative_path(file, name);
    if (!is_sha256(hash)) throw Error(name, "files." + printable(file, 80) + " is not a SHA-256");
  }
  return manifest;
}

std::int64_t verify_files(const fs::path& folder, const Manifest& manifest, const std::string& hint,
                          const Preparation& preparation, const LookAtFile& look) {
  std::vector<const std::pair<const std::string, std::string>*> entries;
  entries.reserve(manifest.files.size());
  for (const auto& entry : manifest.files) entries.push_back(&entry);

  // Batches: a file may be a few KB, and each needs no wake-up of its own.
  constexpr std::size_t kBatch = 16;
  std::atomic<std::int64_t> bytes = 0;
  parallel_for((entries.size() + kBatch - 1) / kBatch, "verifying data", preparation,
               [&](std::size_t batch) {
                 const std::size_t end = std::min(entries.size(), (batch + 1) * kBatch);
                 for (std::size_t i = batch * kBatch; i < end; ++i) {
                   const auto& [file, hash] = *entries[i];
                   const fs::path path = folder / file;
                   const std::string name = printable(path.string());
                   std::error_code error;
                   // Only regular files: opening a FIFO would wait for ever.
                   if (!fs::is_regular_file(path, error)) {
                     throw Error(name, "is missing, the manifest lists it", hint);
                   }
                   const std::string content = look ? read_file(path, kMaxLookedAt) : std::string();
                   if ((look ? sha256_hex(content) : sha256_of_file(path)) != hash) {
                     throw Error(name, "is damaged: its SHA-256 is not the manifest's", hint);
                   }
                   if (look) look(file, content);
                   bytes += static_cast<std::int64_t>(fs::file_size(path, error));
                 }
               });
  return bytes;
}

}  // namespace harness::workloads
