// Texts that differ in nothing but their numbers, as one text with the range of each number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A text taken apart at its numbers. Digits of a name or a version ("fp32", "1.2.3") are none.
struct NumberedText {
  std::vector<std::string> between{};  ///< one more than numbers
  std::vector<std::string> numbers{};  ///< as they were written
};

NumberedText take_numbers(std::string_view text);

/// The least and the greatest of each number of several texts.
class NumberRanges {
 public:
  /// Precondition: as many numbers as in every text added before.
  void add(const std::vector<std::string>& numbers);
  /// `between` with the numbers put in again: "load 2.00", or "load 0.50 to 2.00".
  std::string text(const std::vector<std::string>& between) const;

 private:
  struct Range {
    std::string least{};
    std::string most{};
  };
  std::vector<Range> ranges_{};
};

}  // namespace harness
