// Convolutions and linear layers in int8: their operands are quantised (affine.hpp), products are
// added as whole numbers, and all that stands behind them is done in float32, in the order of
// conv-block. For inference: no gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "kernels/conv_block/conv_block.hpp"
#include "kernels/convolution/convolution.hpp"
#include "kernels/int8/ranges.hpp"

namespace harness::kernels {

/// Weights as int8 along their first extent, one scale for each of its indices.
struct Int8Weights {
  at::Tensor values{};  ///< int8, the weights' shape, from -kLargestWeight to it, neighbours as
                        ///< adds_in_32_bits() asks
  at::Tensor scales{};  ///< (O), float32; above 0
};

/// Kept until the parameter changes, as other forms of it (convolution/prepared_weights.hpp).
Int8Weights int8_weights(const ConvolutionWeights& weights);

/// `values` as kQUInt8 by `affine`; those that are so already stay as they are, by whatever affine
/// they have.
at::Tensor quantised(const at::Tensor& values, const Affine& affine);
/// As quantised(), without values.
at::Tensor empty_quantised(at::IntArrayRef sizes, const Affine& affine, at::MemoryFormat format);
/// float32 of either.
at::Tensor as_floats(const at::Tensor& values);
Affine affine_of(const at::Tensor& quantised);

/// Input and residual may be quantised. kQUInt8 where `narrow_output`, else float32. The
/// definition, of ATen's operators in float32 on numbers that int8 can hold.
at::Tensor int8_conv_block_reference(const ConvBlockArguments& arguments,
                                     const LayerRanges& ranges);
/// The same by oneDNN's primitives; values may lie one integer beside the definition's.
at::Tensor int8_conv_block(const ConvBlockArguments& arguments, const LayerRanges& ranges);

struct Int8Linear {
  at::Tensor input{};                    ///< (rows, in), float32 or kQUInt8
  at::Tensor weight{};                   ///< (out, in)
  at::Tensor bias{};                     ///< (out)
  bool gelu = false;                     ///< the exact one, behind the bias
  std::optional<at::Tensor> residual{};  ///< (rows, out), float32, added last
  bool narrow_output = false;            ///< kQUInt8, which then has no residual
};

at::Tensor int8_linear_reference(const Int8Linear& arguments, const LayerRanges& ranges);
at::Tensor int8_linear(const Int8Linear& arguments, const LayerRanges& ranges);

}  // namespace harness::kernels
