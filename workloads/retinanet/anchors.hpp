// Anchor boxes of RetinaNet's levels.
#pragma once

#include <vector>

#include "kernels/anchors.hpp"
#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {

using kernels::base_anchors;

/// Of each level, see kernels/anchors.hpp.
inline std::vector<at::Tensor> level_anchors(std::int64_t height, std::int64_t width,
                                             const Architecture& architecture = {}) {
  return kernels::level_anchors(height, width, architecture.pyramid_levels,
                                architecture.smallest_anchor);
}

}  // namespace harness::workloads
