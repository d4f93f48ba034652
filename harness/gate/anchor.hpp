// Whether the third side of a campaign can be held against the candidate at all.
#pragma once

#include <optional>
#include <string>

#include "harness/compare/side.hpp"
#include "harness/gate/rules.hpp"

namespace harness {

struct AnchorTrouble {
  std::string why{};
  bool rules_alone = false;  ///< it ran under other rules, and nothing else is wrong
};

/// Nothing for an anchor that the candidate can be compared with. Where it comes from a build that
/// is not for measuring, is invalid, missed its target, does other work or lacks a metric, the
/// verdict between baseline and candidate must not suffer. Precondition: the candidate has runs.
std::optional<AnchorTrouble> anchor_trouble(const Side& anchor, const Side& candidate,
                                            const GateRules& rules);

}  // namespace harness
