// Conv blocks by their shapes alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace harness::kernels {

struct ConvProblem {
  std::string name{};
  std::int64_t multiplicity = 1;
  std::int64_t batch = 2;  ///< benchdnn's default
  std::int64_t groups = 1;
  std::int64_t in_channels = 0, in_height = 0, in_width = 0;
  std::int64_t out_channels = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride = 1, padding = 0;
  bool bias = false, norm = false, residual = false, relu = false;
  bool trained = true;  ///< gradients by data and by weights are wanted

  /// Of one pass, forward or either gradient, a multiply-add counted as two.
  double flops() const;
  double input_elements() const;
  double output_elements() const;
  double weight_elements() const;
  friend bool operator==(const ConvProblem&, const ConvProblem&) = default;
};

/// What the kernels are built for: every distinct conv block of a training step of a detector with
/// a ResNeXt50 (32x4d), a feature pyramid and two heads, one image of 800x800, 264 classes.
std::vector<ConvProblem> detector_problems();

}  // namespace harness::kernels
