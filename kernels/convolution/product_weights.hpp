// Weights for the products of kernels/products/, kept until the parameter changes.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/convolution/convolution.hpp"

namespace harness::kernels {

/// As pack_product() packs weights (O, C) or (O, C, 1, 1) times their scale; kept as
/// prepared_weights() keeps it.
at::Tensor product_weights(const ConvolutionWeights& weights);
/// The same in bf16, as pack_narrow_product() packs them. Precondition: C is even.
at::Tensor narrow_product_weights(const ConvolutionWeights& weights);

}  // namespace harness::kernels
