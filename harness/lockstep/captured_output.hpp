// What a command prints, on its way into a file. A command that prints without end must neither
// fill the disk nor wait, so the middle of a long output is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace harness {

/// Bytes kept from the beginning of an output, and as many from its end.
inline constexpr std::size_t kKeptOutput = std::size_t{4} << 20;

/// The first kKeptOutput bytes are in the file as they come, the last ones after finish(), with a
/// line between them that says how much is missing. A file that takes no more is no error: the rest
/// is dropped, and trouble() says why.
class CapturedOutput {
 public:
  /// `file` is an open descriptor, and stays the caller's.
  explicit CapturedOutput(int file) : file_(file) {}

  void add(std::string_view text);
  void finish();

  std::uint64_t bytes() const { return bytes_; }  ///< of the whole output
  std::uint64_t cut() const;                      ///< bytes that are left out
  int trouble() const { return trouble_; }        ///< errno of the write that failed; 0 for none

 private:
  void keep(std::string_view text);
  void write(std::string_view text);

  int file_;
  std::uint64_t bytes_ = 0;
  int trouble_ = 0;
  std::string ring_{};      ///< the last kKeptOutput bytes behind the first ones
  std::size_t oldest_ = 0;  ///< index in `ring_`, once it is full
};

}  // namespace harness
