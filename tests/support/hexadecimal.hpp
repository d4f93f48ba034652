// Bytes as golden files and oracles write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace harness {

/// The bytes of an even number of hexadecimal digits.
inline std::string from_hexadecimal(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

}  // namespace harness
