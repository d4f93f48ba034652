// The layers of a RetinaNet as a table: by default those of MLPerf Training v5.1's. Parameters,
// forward pass, FLOPs and memory all come from it, so they cannot disagree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/anchors.hpp"

namespace harness::workloads {

/// What the table is made from. The defaults are MLPerf's model: ResNeXt50_32x4d, P3 to P7.
struct Architecture {
  std::int64_t stem_channels = 64;
  std::array<std::int64_t, 4> blocks{3, 4, 6, 3};  ///< bottlenecks in layer1 to layer4
  std::int64_t groups = 32;                        ///< of a bottleneck's 3x3 convolution
  std::int64_t group_width = 4;  ///< its channels a group in layer1, doubling with each layer
  std::int64_t expansion = 4;    ///< layer1 gives stem_channels * expansion, doubling likewise
  std::int64_t pyramid_channels = 256;
  std::int64_t pyramid_levels = 5;    ///< from P3 on: 3 to 5
  std::int64_t head_depth = 4;        ///< convolutions with ReLU before the output layer
  std::int64_t smallest_anchor = 32;  ///< pixels, of P3; doubling with each level
  bool trains_whole_body = false;     ///< false: stem and layer1 are frozen
  /// Deviation of the head towers' initial weights is sqrt(2 / fan_in), which keeps the size of
  /// what passes through; false: the reference's 0.01, as of the output layers.
  bool scaled_heads = false;

  bool operator==(const Architecture&) const = default;
};

/// A small one for 128x128 pictures, trained from random weights within minutes.
Architecture mini_architecture();

/// Throws std::invalid_argument that names the member for what makes no model.
void check_architecture(const Architecture& architecture);

/// The smallest height and width of images whose coarsest level still has a stride of its own:
/// 128 for P7.
std::int64_t smallest_extent(const Architecture& architecture = {});

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
  bool trainable = true;  ///< its weight and bias; the norm never is

  std::int64_t weight_count() const {
    return out_channels * (in_channels / groups) * kernel * kernel;
  }
  /// Output extent for an input extent.
  std::int64_t output_size(std::int64_t input_size) const {
    return (input_size + 2 * padding - kernel) / stride + 1;
  }
};

using kernels::kAnchorsPerLocation;
using kernels::MapSize;

/// Names of a bottleneck's layers begin with this: `backbone.body.layer2.0`.
std::string block_name(int layer, std::int64_t block);

/// All convolutions (71 of MLPerf's), in the order of the reference's state dict: body, pyramid,
/// heads.
std::vector<ConvLayer> retinanet_layers(std::int64_t num_classes,
                                        const Architecture& architecture = {});

/// Where the parts behind the body begin in that table.
struct LayerPlaces {
  std::size_t inner = 0;  ///< the pyramid's 1x1 convolutions on layer2 to layer4
  std::size_t outer = 0;  ///< its 3x3 convolutions
  std::size_t extra = 0;  ///< P6, P7, as many as there are
  std::size_t class_head = 0;
  std::size_t box_head = 0;
};
LayerPlaces layer_places(const Architecture& architecture);

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

/// All calls of a training step in the order of the forward pass; of MLPerf's model 53 in the body,
/// 8 in the pyramid, 10 in the heads for each of 5 levels.
std::vector<ConvolutionCall> retinanet_calls(std::int64_t batch, std::int64_t height,
                                             std::int64_t width, std::int64_t num_classes,
                                             const Architecture& architecture = {});

/// Of the pyramid's levels.
std::vector<MapSize> pyramid_sizes(std::int64_t height, std::int64_t width,
                                   const Architecture& architecture = {});
/// Of one image.
std::int64_t anchor_count(std::int64_t height, std::int64_t width,
                          const Architecture& architecture = {});

}  // namespace harness::workloads
