#include "harness/gate/failures.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {

AfterFailure Failures::count(const std::string& place, const FailedSide& failed) {
  const std::string& name = names_.at(failed.side);
  if (++counts_[failed.side] == 1) {
    notes_.push_back(fmt::format("{} was tried again: {}: {}", place, name, failed.why));
    return AfterFailure::kTryAgain;
  }
  if (failed.side == kAnchor) return AfterFailure::kWithoutAnchor;
  if (failed.side == kBaseline) {
    throw Error(fmt::format("{}, {}", name, place), failed.why,
                "it has to run; its output is in " + printable(out_.string()));
  }
  why_ = failed.why;
  return AfterFailure::kRegressed;
}

}  // namespace harness
