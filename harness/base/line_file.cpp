#include "harness/base/line_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {

LineFile::LineFile(const std::filesystem::path& path, std::string line_name)
    : path_(path), line_name_(std::move(line_name)) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    throw Error(printable(path.string()), fmt::format("cannot create it: {}", std::strerror(errno)),
                "choose another folder with --out");
  }
}

LineFile::LineFile(const std::filesystem::path& path, std::string line_name,
                   const WrittenLines& known)
    : path_(path), line_name_(std::move(line_name)), size_(static_cast<off_t>(known.size)) {
  const auto refuse = [&](const std::string& why) {
    if (fd_ >= 0) ::close(fd_);
    throw Error(printable(path.string()), why,
                "put it back as it was, or start a new run in another folder");
  };
  fd_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd_ < 0) refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
  struct stat status {};
  if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) refuse("is no regular file");
  if (size_ < 0 || status.st_size < size_) refuse("is shorter than it was when the run stopped");
  if (!hash_beginning() || hash_.hex_so_far() != known.sha256) {
    refuse("was changed since the run wrote it: its SHA-256 differs");
  }
  has_more_ = status.st_size > size_;
}

bool LineFile::hash_beginning() {
  std::vector<char> buffer(std::size_t{1} << 20);
  for (off_t at = 0; at < size_;) {
    const std::size_t wanted = std::min(buffer.size(), static_cast<std::size_t>(size_ - at));
    const ssize_t n = ::pread(fd_, buffer.data(), wanted, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    hash_.update(buffer.data(), static_cast<std::size_t>(n));
    at += n;
  }
  return true;
}

LineFile::~LineFile() {
  if (fd_ >= 0) ::close(fd_);
}

void LineFile::append(std::string_view line) {
  if (has_more_) {
    if (::ftruncate(fd_, size_) != 0) {
      throw Error(printable(path_.string()),
                  fmt::format("cannot be cut: {}", std::strerror(errno)));
    }
    has_more_ = false;
  }
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      // Half a line would make the lines before it look damaged.
      const int reason = errno;
      [[maybe_unused]] const int ignored = ::ftruncate(fd_, size_);
      throw Error(printable(path_.string()),
                  fmt::format("cannot append {}: {}", line_name_, std::strerror(reason)),
                  "free some space or choose another folder with --out");
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += static_cast<off_t>(text.size());
  hash_.update(text.data(), text.size());
}

void LineFile::discard() {
  ::close(fd_);
  fd_ = -1;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void LineFile::sync() { ::fsync(fd_); }

}  // namespace harness
