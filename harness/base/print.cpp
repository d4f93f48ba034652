#include "harness/base/print.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace harness {
namespace {

int lost_errno = 0;  // of the first write to stdout that failed

void note_loss(bool written) {
  if (!written && lost_errno == 0) lost_errno = errno != 0 ? errno : EIO;
}

}  // namespace

void guard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one. In the wrong direction, so that its use is an error.
    [[maybe_unused]] const int taken = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
  ::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow any more is an error of the write as well, like a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
}

bool write_text(std::FILE* file, std::string_view text) noexcept {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size();
}

void print_out(std::string_view text) noexcept {
  errno = 0;
  note_loss(write_text(stdout, text));
}

void print_err(std::string_view text) noexcept { write_text(stderr, text); }

void flush_out() noexcept {
  errno = 0;
  note_loss(std::fflush(stdout) == 0);
}

std::optional<int> lost_output() {
  flush_out();
  if (lost_errno == 0) return std::nullopt;
  return lost_errno;
}

}  // namespace harness
