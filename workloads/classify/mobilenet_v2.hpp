// MobileNetV2 (Sandler et al. 2018, arXiv 1801.04381), width 1, as torchvision trained it on
// ImageNet, without its classifier: norms are folded into the convolutions.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "harness/base/types.hpp"
#include "kernels/conv_chain/conv_chain.hpp"

namespace harness::workloads {

/// Torchvision's file, by its name in assets.json.
inline constexpr const char* kMobileNetV2File = "mobilenet_v2-b0353104.pth";

/// Its convolutions in order, with what stands behind each.
struct MobileNetV2Layers {
  std::vector<kernels::ConvChainLayer> layers{};
  Artifact artifact{};
};

/// Reads torchvision's file. Throws Error where it is not sound or lacks a tensor.
MobileNetV2Layers read_mobilenet_v2(const std::filesystem::path& weights);

/// How many of them it takes to the last maps at a quarter, an eighth and a sixteenth of the
/// picture's extent.
inline constexpr std::array<std::size_t, 3> kLayersToExtent = {9, 18, 39};

/// Of one picture of that size; a multiply-add counts two.
double flops_of_layers(const std::vector<kernels::ConvChainLayer>& layers, std::int64_t height,
                       std::int64_t width);

class MobileNetV2 {
 public:
  static constexpr std::int64_t kFeatures = 1280;

  /// Throws Error as read_mobilenet_v2() does.
  MobileNetV2(const std::filesystem::path& weights, kernels::ConvChainFn* make_chain);

  /// (N, 1280) from pictures (N, 3, H, W), normalised as ImageNet's: the mean over all positions of
  /// the last maps.
  at::Tensor features(const at::Tensor& pictures) const;
  /// Of one picture of that size; a multiply-add counts two.
  double flops(std::int64_t height, std::int64_t width) const {
    return flops_of_layers(layers_, height, width);
  }
  std::int64_t convolutions() const { return static_cast<std::int64_t>(layers_.size()); }
  const Artifact& weights() const { return artifact_; }

 private:
  std::vector<kernels::ConvChainLayer> layers_{};
  std::unique_ptr<kernels::ConvChain> chain_{};
  Artifact artifact_{};
};

}  // namespace harness::workloads
