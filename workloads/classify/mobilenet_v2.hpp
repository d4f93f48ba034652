// MobileNetV2 (Sandler et al. 2018, arXiv 1801.04381), width 1, as torchvision trained it on
// ImageNet, without its classifier: norms are folded into the convolutions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/base/types.hpp"
#include "kernels/conv_block/conv_block.hpp"

namespace harness::workloads {

class MobileNetV2 {
 public:
  static constexpr std::int64_t kFeatures = 1280;

  /// Reads torchvision's file. Throws Error where it is not sound or lacks a tensor.
  MobileNetV2(const std::filesystem::path& weights, kernels::ConvBlockFn* conv_block);

  /// (N, 1280) from pictures (N, 3, H, W), normalised as ImageNet's: the mean over all positions of
  /// the last maps.
  at::Tensor features(const at::Tensor& pictures) const;
  /// Of one picture of that size; a multiply-add counts two.
  double flops(std::int64_t height, std::int64_t width) const;
  std::int64_t convolutions() const { return static_cast<std::int64_t>(layers_.size()); }
  const Artifact& weights() const { return artifact_; }

 private:
  struct Layer {
    at::Tensor weight{}, bias{};
    std::int64_t stride = 1, padding = 0, groups = 1;
    bool relu6 = false;
    bool begins = false;    ///< of an inverted residual: its input is kept
    bool residual = false;  ///< ends one that adds its input
  };

  std::vector<Layer> layers_{};
  Artifact artifact_{};
  kernels::ConvBlockFn* conv_block_ = nullptr;
};

}  // namespace harness::workloads
