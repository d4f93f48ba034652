// The program that tests start; CMakeLists.txt says which.
#include "tests/support/process.hpp"

namespace harness {

std::string harness_program() { return HARNESS_BINARY; }

}  // namespace harness
