// A text file that grows by whole lines while something runs: what a killed process had written is
// readable up to its last line.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/hash.hpp"

namespace harness {

/// The beginning of a file that grows: what an earlier process had written of it.
struct WrittenLines {
  std::uint64_t size = 0;  ///< bytes, up to the end of a line
  std::string sha256{};    ///< of these bytes
};

/// Each line is a single write(2). Throws Error when the disk takes no more; half a line is then
/// taken back.
class LineFile {
 public:
  /// Creates `path`, which must not exist: files of two runs are never mixed. `line_name` is what
  /// messages call a line ("a sample").
  LineFile(const std::filesystem::path& path, std::string line_name);
  /// Goes on in a file that an earlier process of the same run wrote, behind the lines in `known`;
  /// what is behind them goes with the first append(), no sooner. Throws Error for a file that is
  /// shorter or whose beginning was changed.
  LineFile(const std::filesystem::path& path, std::string line_name, const WrittenLines& known);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// `line` without its newline.
  void append(std::string_view line);
  /// All whole lines so far. Their hash is kept up as they come: no byte is read again.
  WrittenLines written() const { return {static_cast<std::uint64_t>(size_), hash_.hex_so_far()}; }
  /// Waits for the disk. A power cut is not kill -9: only the end of a run is worth it.
  void sync();
  /// Closes and removes the file; nothing may be appended then.
  void discard();

 private:
  /// False where not all could be read.
  bool hash_beginning();

  std::filesystem::path path_;
  std::string line_name_;
  int fd_ = -1;
  off_t size_ = 0;
  Sha256 hash_{};          ///< of the first `size_` bytes
  bool has_more_ = false;  ///< behind `size_`, from the process before
};

}  // namespace harness
