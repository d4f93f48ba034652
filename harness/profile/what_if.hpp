// A profile as it would be under other settings: what a projection replays in place of what was
// recorded.
#pragma once

#include <cstdint>
#include <string>

#include "harness/profile/projection.hpp"
#include "harness/profile/tables.hpp"

namespace harness {

struct WhatIf {
  std::string from_precision = "fp32", to_precision = "fp32";
  std::int64_t from_batch = 1, to_batch = 1;

  bool operator==(const WhatIf&) const = default;
};

/// Precision: primitives take the other type; work outside of them moves bytes of the other width
/// where its tensors are a kernel's of ours, which stay narrow from one to the next; LibTorch's own
/// operators go on in float32 behind a frozen norm, and around each of its convolutions copies from
/// one type into the other are added, at the bandwidth that element-wise operators reached in this
/// profile. Batch: activations and all work on them grow, weights and the optimiser do not.
/// Throws std::invalid_argument for a change from bf16 to fp32, which nothing in a profile tells.
StepModel imagine(const ProfileTables& tables, double overhead, const WhatIf& what_if);

}  // namespace harness
