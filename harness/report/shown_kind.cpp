#include "harness/report/shown_kind.hpp"

#include "harness/result/kind.hpp"

namespace harness {

const ShownKind* shown_kind_of(const ResultCommon& result) {
  return dynamic_cast<const ShownKind*>(&kind_of(result));
}

}  // namespace harness
