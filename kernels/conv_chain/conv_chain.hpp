// Operator `conv-chain`: convolutions on one another's maps with all that stands behind each, as
// the whole body of a network. For inference: it has no gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/conv_block/conv_block.hpp"
#include "kernels/registry.hpp"

namespace harness::kernels {

struct ConvChainLayer {
  at::Tensor weight{};               ///< (O, C/groups, k, k), float32
  std::optional<at::Tensor> bias{};  ///< (O), float32
  std::int64_t stride = 1, padding = 0, groups = 1;
  bool relu = false;
  double ceiling = kNoCeiling;  ///< of the ReLU: 6 for ReLU6
  /// The layer, this one or one before it, whose input is added before the ReLU.
  std::optional<std::size_t> adds_input_of{};
};

struct ConvChainArguments {
  std::vector<ConvChainLayer> layers{};
  bool mean = false;  ///< over all positions of the last maps
};

class ConvChain {
 public:
  ConvChain() = default;
  virtual ~ConvChain() = default;
  ConvChain(const ConvChain&) = delete;
  ConvChain& operator=(const ConvChain&) = delete;

  /// (N, O, H', W') from (N, C, H, W); with `mean` (N, O), float32. Throws std::invalid_argument
  /// for maps of other channels, or too small for the layers.
  virtual at::Tensor forward(const at::Tensor& maps) = 0;
};

/// Made once of its layers. A weight that is changed afterwards may be seen or not. Throws
/// std::invalid_argument for layers that do not fit one another.
using ConvChainFn = std::unique_ptr<ConvChain>(const ConvChainArguments& arguments);

Operator<ConvChainFn>& conv_chain_operator();

/// Throws std::invalid_argument for maps that the layers cannot take, or whose sums are of maps of
/// two sizes.
void check_maps(const std::vector<ConvChainLayer>& layers, const at::Tensor& maps);

/// One conv block after another, by that implementation.
std::unique_ptr<ConvChain> composed_chain(const ConvChainArguments& arguments,
                                          ConvBlockFn* conv_block);

}  // namespace harness::kernels
