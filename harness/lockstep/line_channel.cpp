#include "harness/lockstep/line_channel.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/protocol.hpp"

namespace harness {
namespace {

bool readable(int file, double seconds) {
  pollfd entry{file, POLLIN, 0};
  // Rounded up: who waits for less than a millisecond must not spin.
  return ::poll(&entry, 1, static_cast<int>(std::ceil(seconds * 1000))) > 0;
}

}  // namespace

LineChannel::~LineChannel() {
  ::close(input_);
  ::close(output_);
}

void LineChannel::send(std::string_view line) const {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::write(output_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw ProtocolError(fmt::format("takes no more lines ({})", std::strerror(errno)));
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::optional<std::string> LineChannel::line_within(double seconds) {
  const auto until = Steady::now() + std::chrono::duration<double>(seconds);
  while (true) {
    if (auto line = take_line()) return line;
    const std::chrono::duration<double> left = until - Steady::now();
    if (!readable(input_, std::max(0.0, left.count()))) return std::nullopt;
    std::array<char, 1 << 16> buffer{};
    const ssize_t n = ::read(input_, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) return std::nullopt;
    if (n <= 0) {
      throw ProtocolError(read_.empty()
                              ? "its output ended"
                              : fmt::format("its output ended in the midst of the line '{}'",
                                            printable(read_, 80)));
    }
    read_.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

bool LineChannel::has_more() const { return !read_.empty() || readable(input_, 0); }

std::optional<std::string> LineChannel::take_line() {
  const std::size_t end = read_.find('\n', searched_);
  searched_ = std::min(end, read_.size());
  if (searched_ > kMostLineBytes) {
    throw ProtocolError(fmt::format("a line of more than {} that begins '{}'",
                                    format_quantity(static_cast<double>(kMostLineBytes), "B"),
                                    printable(read_, 80)));
  }
  if (end == std::string::npos) return std::nullopt;
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

}  // namespace harness
