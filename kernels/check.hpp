// Argument checks of the operators.
#pragma once

#include <stdexcept>
#include <string>

namespace harness::kernels {

/// Throws std::invalid_argument with `message` unless `condition` holds.
inline void require(bool condition, const std::string& message) {
  if (!condition) throw std::invalid_argument(message);
}

}  // namespace harness::kernels
