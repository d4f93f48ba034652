// What core_tests start: the program without LibTorch.
#include "tests/support/process.hpp"

namespace harness {

std::string harness_program() { return HARNESS_BINARY; }

}  // namespace harness
