// A regular file, opened for reading. Nothing that a person names may keep the program waiting: a
// FIFO has no end before somebody writes to it, and a device may have none at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace harness {

class RegularFile {
 public:
  /// Throws Error at once for a path that cannot be opened, and for a FIFO, a device, a socket or a
  /// folder.
  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  /// Bytes when it was opened; it may grow while it is read.
  std::uint64_t size() const { return size_; }
  /// The next bytes, at most `size` of them; 0 at the end of the file. Throws Error.
  std::size_t read(void* data, std::size_t size);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace harness
