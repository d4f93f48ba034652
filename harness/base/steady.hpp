// The clock that nobody sets.
#pragma once

#include <chrono>

namespace harness {

using Steady = std::chrono::steady_clock;

/// Its reading.
inline double steady_seconds() {
  return std::chrono::duration<double>(Steady::now().time_since_epoch()).count();
}

inline double seconds_since(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

}  // namespace harness
