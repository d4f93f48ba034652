// Lines of text to and from another process.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace harness {

class LineChannel {
 public:
  /// Owns both descriptors.
  LineChannel(int input, int output) : input_(input), output_(output) {}
  ~LineChannel();
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;

  /// Throws ProtocolError (protocol.hpp) when nobody reads any more.
  void send(std::string_view line) const;
  /// The next line, waited for at most so long (or until a signal comes); empty where there is none
  /// yet. Throws ProtocolError for one of more than kMostLineBytes, and at the end of the input.
  std::optional<std::string> line_within(double seconds);
  /// Whether there is something to read now, be it half a line.
  bool has_more() const;

 private:
  std::optional<std::string> take_line();

  int input_;
  int output_;
  std::string read_{};        ///< and not yet taken
  std::size_t searched_ = 0;  ///< bytes of it that hold no end of a line
};

}  // namespace harness
