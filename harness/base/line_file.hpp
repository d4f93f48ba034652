// A text file that grows by whole lines while something runs: what a killed process had written is
// readable up to its last line.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace harness {

/// Each line is a single write(2). Throws Error when the disk takes no more; half a line is then
/// taken back.
class LineFile {
 public:
  /// Creates `path`, which must not exist: files of two runs are never mixed. `line_name` is what
  /// messages call a line ("a sample").
  LineFile(const std::filesystem::path& path, std::string line_name);
  /// Goes on in a file that an earlier process of the same run wrote, behind its first `size`
  /// bytes, which end a line; what is behind them goes with the first append(), no sooner. Throws
  /// Error for a file that has fewer.
  LineFile(const std::filesystem::path& path, std::string line_name, std::uint64_t size);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// `line` without its newline.
  void append(std::string_view line);
  /// Bytes up to the end of the last whole line.
  std::uint64_t size() const { return static_cast<std::uint64_t>(size_); }
  /// Waits for the disk. A power cut is not kill -9: only the end of a run is worth it.
  void sync();
  /// Closes and removes the file; nothing may be appended then.
  void discard();

 private:
  std::filesystem::path path_;
  std::string line_name_;
  int fd_ = -1;
  off_t size_ = 0;
  bool has_more_ = false;  ///< behind `size_`, from the process before
};

}  // namespace harness
