// libFuzzer's entry into one target.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): called by libFuzzer
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  HARNESS_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
