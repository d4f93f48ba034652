// The layers of MLPerf Training v5.1's RetinaNet as a table. Parameters, forward pass, FLOPs and
// memory all come from it, so they cannot disagree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace harness::workloads {

/// A convolution of the model; its tensors in the state dict are `name.weight`, `name.bias`.
struct ConvLayer {
  std::string name{};
  std::string norm{};  ///< name of the frozen batch norm after it; empty: none
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool bias = false;
  bool trainable = true;  ///< stem and layer1 are frozen, as are all batch norms

  std::int64_t weight_count() const {
    return out_channels * (in_channels / groups) * kernel * kernel;
  }
  /// Output extent for an input extent.
  std::int64_t output_size(std::int64_t input_size) const {
    return (input_size + 2 * padding - kernel) / stride + 1;
  }
};

inline constexpr std::int64_t kPyramidChannels = 256;
inline constexpr std::int64_t kPyramidLevels = 5;  ///< P3 to P7
inline constexpr std::int64_t kAnchorsPerLocation = 9;
inline constexpr std::int64_t kHeadDepth = 4;  ///< convolutions with ReLU before the output layer

/// Blocks in layer1 to layer4 of ResNeXt50_32x4d.
inline constexpr std::int64_t kBlocks[4] = {3, 4, 6, 3};

/// Names of a bottleneck's layers begin with this: `backbone.body.layer2.0`.
std::string block_name(int layer, std::int64_t block);

/// All 71 convolutions, in the order of the reference's state dict.
std::vector<ConvLayer> retinanet_layers(std::int64_t num_classes);

/// One convolution as it is called in a training step.
struct ConvolutionCall {
  ConvLayer layer{};
  std::int64_t batch = 0;
  std::int64_t in_height = 0, in_width = 0;
  std::int64_t out_height = 0, out_width = 0;
  bool backward_data = false;
  bool backward_weights = false;

  /// Of the forward pass, a multiply-add counted as two; each backward part costs the same.
  double flops() const;
  double input_elements() const;
  double output_elements() const;
};

/// All calls of a training step in the order of the forward pass: 53 in the body, 8 in the pyramid,
/// 10 in the heads for each of 5 levels.
std::vector<ConvolutionCall> retinanet_calls(std::int64_t batch, std::int64_t height,
                                             std::int64_t width, std::int64_t num_classes);

/// (height, width) of the pyramid's levels.
struct MapSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
std::vector<MapSize> pyramid_sizes(std::int64_t height, std::int64_t width);
/// Anchors of one image: 120,087 at 800x800.
std::int64_t anchor_count(std::int64_t height, std::int64_t width);

}  // namespace harness::workloads
