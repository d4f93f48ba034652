// Mean intersection over union: how well classes of pixels agree with what is there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "harness/base/types.hpp"

namespace harness::workloads {

inline constexpr const char* kSegmentationMetric = "mIoU";

/// Pixels by what is there (rows) and what was said (columns).
class PixelCounts {
 public:
  explicit PixelCounts(std::int64_t classes);

  /// Both of one shape, whole numbers from 0 to classes - 1. Throws std::invalid_argument for
  /// others.
  void add(const at::Tensor& truth, const at::Tensor& said);

  /// The mean over classes of |both| / |either|. A class that is neither there nor said counts
  /// nothing; NaN where that is all of them.
  double mean_iou() const;
  /// The share of pixels that are right.
  double accuracy() const;

 private:
  std::int64_t classes_;
  at::Tensor counts_;  ///< (classes, classes), int64
};

/// The metric "mIoU", with the share of right pixels as a detail.
Quality segmentation_quality(const PixelCounts& counts);

}  // namespace harness::workloads
