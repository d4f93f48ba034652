#include "harness/base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

Error failure(const std::filesystem::path& path, const char* why) {
  return {printable(path.string()), why};
}

}  // namespace

RegularFile::RegularFile(const std::filesystem::path& path) : path_(path) {
  // O_NONBLOCK: without it the open itself would wait for a FIFO's writer.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  // A socket cannot be opened at all.
  if (fd_ < 0) throw failure(path, errno == ENXIO ? "not a regular file" : std::strerror(errno));
  struct stat info {};
  const char* why = ::fstat(fd_, &info) != 0 ? std::strerror(errno)
                    : !S_ISREG(info.st_mode) ? "not a regular file"
                                             : nullptr;
  if (why != nullptr) {
    ::close(fd_);
    throw failure(path, why);
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

RegularFile::~RegularFile() { ::close(fd_); }

std::size_t RegularFile::read(void* data, std::size_t size) {
  ssize_t n = 0;
  do {
    n = ::read(fd_, data, size);
  } while (n < 0 && errno == EINTR);
  if (n < 0) throw failure(path_, std::strerror(errno));
  return static_cast<std::size_t>(n);
}

}  // namespace harness
