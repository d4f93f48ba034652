// A chain of convolutions in int8, prepared for maps of one size: what goes from layer to layer
// lies in memory of its own, so no layer makes a tensor.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/conv_chain/conv_chain.hpp"
#include "kernels/int8/convolution.hpp"
#include "kernels/int8/ranges.hpp"

namespace harness::kernels {

class Int8Chain {
 public:
  /// Whether it can: more than one layer, no sum in the last one, whose maps are float32, and none
  /// with what goes into the chain, which is float32, too.
  static bool computes(const std::vector<ConvChainLayer>& layers);

  /// For maps of those sizes (N, C, H, W), none of them 0, by as many threads as there are now.
  /// Weights are taken as they are now. Preconditions: computes(layers), and check_maps() takes
  /// such maps. Throws std::invalid_argument for layers that nobody measured, and dnnl::error.
  Int8Chain(const std::vector<ConvChainLayer>& layers, const Int8Ranges& ranges,
            at::IntArrayRef sizes);

  /// Whether it was made for these ranges and as many threads as there are; and for such maps.
  /// Throws std::invalid_argument for ranges without its layers.
  bool is_for(const Int8Ranges& ranges) const;
  bool is_for(const Int8Ranges& ranges, at::IntArrayRef sizes) const;

  /// As int8_conv_block() of one layer after another, bit for bit. By one thread at a time.
  at::Tensor run(const at::Tensor& maps);

 private:
  void place_maps(const std::vector<ConvChainLayer>& layers);

  std::vector<at::Tensor> weights_{};  ///< of each layer, by which its ranges are known
  std::vector<LayerRanges> ranges_{};
  std::vector<std::int64_t> sizes_{};
  int threads_ = 1;
  std::vector<std::unique_ptr<const Int8Convolution>> convolutions_{};
  at::Tensor memory_{};
  std::vector<Int8Convolution::Call> calls_{};
};

}  // namespace harness::kernels
