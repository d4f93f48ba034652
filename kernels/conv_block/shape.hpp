// The shape of a conv block's convolution.
#pragma once

#include "kernels/conv_block/conv_block.hpp"
#include "kernels/convolution/convolution.hpp"

namespace harness::kernels {

/// With activations of `type`, and as many threads as there are now. Throws std::invalid_argument
/// for tensors that do not fit one another.
ConvolutionShape shape_of(const ConvBlockArguments& arguments, at::ScalarType type);

}  // namespace harness::kernels
