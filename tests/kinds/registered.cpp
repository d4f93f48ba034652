// The tests know the kinds of result that the program knows.
#include "harness/kinds/kinds.hpp"

namespace {

[[maybe_unused]] const bool registered = [] {
  harness::register_result_kinds();
  return true;
}();

}  // namespace
