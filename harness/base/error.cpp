#include "harness/base/error.hpp"

#include <new>

namespace harness {

std::string reason(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "memory ran out";
  const std::string whole = error.what();
  return whole.substr(0, whole.find('\n'));
}

}  // namespace harness
