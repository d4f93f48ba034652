// What torch_tests start.
#include "tests/support/process.hpp"

namespace harness {

std::string harness_program() { return HARNESS_BINARY; }

}  // namespace harness
