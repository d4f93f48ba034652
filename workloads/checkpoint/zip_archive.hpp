// Reading entries of a zip archive that lies in memory, through libzip.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace harness::workloads {

/// `content` must outlive the archive. Everything unpacked together is limited to a multiple of the
/// archive's own size, far above what packing real weights saves, so a zip bomb ends early.
class ZipArchive {
 public:
  /// Throws BadFile when `content` is no zip archive, or has an absurd number of entries.
  explicit ZipArchive(std::string_view content);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  /// The first entry whose name ends in `suffix`.
  [[nodiscard]] std::optional<std::string> find_suffix(std::string_view suffix) const;
  [[nodiscard]] bool contains(const std::string& name) const;
  /// The unpacked entry, its checksum verified. Throws BadFile when it is missing, larger than
  /// `limit`, encrypted, packed by something other than deflate, or damaged.
  [[nodiscard]] std::string read(const std::string& name, std::uint64_t limit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace harness::workloads
