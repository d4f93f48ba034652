// Suites as a kind of result.
#pragma once

#include <memory>

#include "harness/result/kind.hpp"

namespace harness {

std::unique_ptr<ResultKind> suite_kind();

}  // namespace harness
