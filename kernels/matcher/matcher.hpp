// Operator `matcher`: which ground-truth box each anchor is trained on.
#pragma once

#include <ATen/ATen.h>

#include "kernels/registry.hpp"

namespace harness::kernels {

inline constexpr int64_t kBackground = -1;  ///< best IoU below the low threshold
inline constexpr int64_t kIgnored = -2;     ///< best IoU between the thresholds

struct MatcherArguments {
  at::Tensor boxes{};    ///< ground truth (M, 4), M may be 0
  at::Tensor anchors{};  ///< (N, 4)
  double high = 0.5;     ///< best IoU from here on: matched
  double low = 0.4;      ///< best IoU below: background
};

/// (N) int64: the index of the matched box, kBackground or kIgnored. Every anchor that reaches a
/// box's best IoU (ties included) gets its own best box back, however low; a box that overlaps no
/// anchor has best IoU 0 and so turns all anchors it misses positive, as in the reference.
using MatcherFn = at::Tensor(const MatcherArguments& arguments);

Operator<MatcherFn>& matcher_operator();

}  // namespace harness::kernels
