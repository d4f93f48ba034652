// A light decoder on maps of MobileNetV2: the class of each pixel.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "harness/base/types.hpp"
#include "kernels/conv_chain/conv_chain.hpp"
#include "workloads/torch/parameters.hpp"

namespace harness::workloads {

/// Maps at a quarter, an eighth and a sixteenth of the picture's extent, float32, channels_last.
using BackboneMaps = std::array<at::Tensor, 3>;

/// MobileNetV2 up to the last layers at those extents, with ImageNet's weights, which stay as they
/// are.
class SegmentBackbone {
 public:
  static constexpr std::array<std::int64_t, 3> kChannels = {24, 32, 96};

  /// Reads torchvision's file. Throws Error where it is not sound or lacks a tensor.
  SegmentBackbone(const std::filesystem::path& weights, kernels::ConvChainFn* make_chain);

  /// Of pictures (N, 3, H, W), normalised as ImageNet's.
  BackboneMaps maps(const at::Tensor& pictures) const;
  /// Of one picture; a multiply-add counts two.
  double flops(std::int64_t height, std::int64_t width) const;
  std::int64_t convolutions() const { return std::ssize(layers_); }
  const Artifact& weights() const { return artifact_; }

 private:
  std::vector<kernels::ConvChainLayer> layers_{};
  std::array<std::unique_ptr<kernels::ConvChain>, 3> chains_{};
  Artifact artifact_{};
};

/// The decoder's weights by name, zero: `lateral4.weight`, `smooth.bias`, ...
ParameterStore decoder_parameters(std::int64_t classes);
/// Kaiming's normal distribution (fan in, ReLU), biases zero; the same bits on every machine.
void set_initial_values(ParameterStore& decoder, std::uint32_t seed);

/// (N, classes, H / 4, W / 4), in the type of `maps`, with a gradient: the maps of each extent
/// brought to 64 channels by a 3x3 convolution, the coarser added to the finer, then one more and
/// the classes.
at::Tensor decoder_logits(const ParameterStore& decoder, const BackboneMaps& maps);

/// The same with convolutions that follow one another as one operator, without a gradient. Made of
/// the weights as they are then.
class Decoder {
 public:
  Decoder(const ParameterStore& decoder, kernels::ConvChainFn* make_chain);

  at::Tensor logits(const BackboneMaps& maps) const;

 private:
  std::array<std::unique_ptr<kernels::ConvChain>, 3> laterals_{};
  std::unique_ptr<kernels::ConvChain> head_{};
};

inline constexpr std::int64_t kDecoderConvolutions = 5;
/// Of one picture; a multiply-add counts two. The laterals are those on the backbone's maps.
double decoder_flops(std::int64_t height, std::int64_t width, std::int64_t classes);
double lateral_flops(std::int64_t height, std::int64_t width);

/// (N, classes, 4 H, 4 W): between the positions' centres.
at::Tensor full_extent(const at::Tensor& logits);
/// (N, 4 H, 4 W), int64: the class with the largest logit at each pixel.
at::Tensor classes_of_pixels(const at::Tensor& logits);

}  // namespace harness::workloads
