#include "harness/lockstep/captured_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/base/text.hpp"

namespace harness {

void CapturedOutput::add(std::string_view text) {
  const std::uint64_t before = bytes_;
  bytes_ += text.size();
  if (before < kKeptOutput) {
    const std::size_t head = std::min<std::size_t>(text.size(), kKeptOutput - before);
    write(text.substr(0, head));
    text.remove_prefix(head);
  }
  if (text.size() > kKeptOutput) text.remove_prefix(text.size() - kKeptOutput);
  keep(text);
}

void CapturedOutput::keep(std::string_view text) {
  const std::size_t grow = std::min(text.size(), kKeptOutput - ring_.size());
  ring_.append(text.substr(0, grow));
  text.remove_prefix(grow);
  while (!text.empty()) {
    const std::size_t n = std::min(text.size(), ring_.size() - oldest_);
    std::copy_n(text.begin(), n, ring_.begin() + static_cast<std::ptrdiff_t>(oldest_));
    oldest_ = (oldest_ + n) % ring_.size();
    text.remove_prefix(n);
  }
}

std::uint64_t CapturedOutput::cut() const {
  return bytes_ - std::min<std::uint64_t>(bytes_, kKeptOutput + ring_.size());
}

void CapturedOutput::finish() {
  if (cut() > 0) {
    write(fmt::format("\n[harness: {} cut out here, {} bytes of {}]\n",
                      format_quantity(static_cast<double>(cut()), "B"), cut(), bytes_));
  }
  write(std::string_view(ring_).substr(oldest_));
  write(std::string_view(ring_).substr(0, oldest_));
}

void CapturedOutput::write(std::string_view text) {
  while (!text.empty() && trouble_ == 0) {
    const ssize_t n = ::write(file_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) trouble_ = n < 0 ? errno : EIO;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace harness
