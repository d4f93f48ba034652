// The clock that nobody sets.
#pragma once

#include <chrono>

namespace harness {

using Steady = std::chrono::steady_clock;

inline double seconds_since(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

}  // namespace harness
