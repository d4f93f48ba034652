#include "workloads/segment/intersection.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <stdexcept>

namespace harness::workloads {

PixelCounts::PixelCounts(std::int64_t classes)
    : classes_(classes), counts_(at::zeros({classes, classes}, at::kLong)) {}

void PixelCounts::add(const at::Tensor& truth, const at::Tensor& said) {
  if (truth.sizes() != said.sizes()) {
    throw std::invalid_argument("classes of pixels of two shapes");
  }
  if (truth.numel() == 0) return;
  for (const at::Tensor* classes : {&truth, &said}) {
    const at::Tensor numbers = classes->to(at::kDouble);
    const at::Tensor whole = numbers.eq(numbers.floor());
    if (!whole.logical_and(numbers.ge(0)).logical_and(numbers.lt(classes_)).all().item<bool>()) {
      throw std::invalid_argument("a pixel of no class");
    }
  }
  const at::Tensor place = truth.to(at::kLong).mul(classes_).add(said.to(at::kLong)).flatten();
  counts_.add_(at::bincount(place, {}, classes_ * classes_).view({classes_, classes_}));
}

double PixelCounts::mean_iou() const {
  const at::Tensor both = counts_.diagonal().to(at::kDouble);
  const at::Tensor either = counts_.sum(0).add(counts_.sum(1)).to(at::kDouble).sub(both);
  const at::Tensor counts = either.gt(0);
  return both.masked_select(counts).div(either.masked_select(counts)).mean().item<double>();
}

double PixelCounts::accuracy() const {
  return counts_.diagonal().sum().item<double>() / counts_.sum().item<double>();
}

Quality segmentation_quality(const PixelCounts& counts) {
  Quality quality{.metric = kSegmentationMetric, .direction = Direction::kHigher};
  const double value = counts.mean_iou();
  if (std::isfinite(value)) {
    quality.value = value;
    quality.details = {{"pixel-accuracy", counts.accuracy()}};
  } else {
    quality.reason = "there is no pixel";
  }
  return quality;
}

}  // namespace harness::workloads
