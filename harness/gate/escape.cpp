#include "harness/gate/escape.hpp"

#include <fmt/format.h>

namespace harness {

std::string character_references(std::string_view text, std::string_view special) {
  std::string safe;
  for (const char letter : text) {
    if (special.find(letter) == std::string_view::npos) {
      safe.push_back(letter);
    } else {
      safe += fmt::format("&#{};", static_cast<int>(letter));
    }
  }
  return safe;
}

}  // namespace harness
