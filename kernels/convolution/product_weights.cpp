#include "kernels/convolution/product_weights.hpp"

#include <ATen/ATen.h>

#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/products/products.hpp"

namespace harness::kernels {

at::Tensor product_weights(const ConvolutionWeights& weights) {
  return prepared_weights(weights, {.own = WeightForm::Own::kProduct}, [&] {
    const int64_t columns = weights.weight.size(0);
    const int64_t depth = weights.weight.size(1);
    at::Tensor source = weights.weight.detach().reshape({columns, depth}).contiguous();
    if (weights.scale.defined()) source = source * weights.scale.view({-1, 1});
    at::Tensor packed = at::empty({static_cast<int64_t>(packed_product_floats(depth, columns))});
    pack_product({source.const_data_ptr<float>(), depth, columns, depth, 1},
                 packed.mutable_data_ptr<float>());
    return packed;
  });
}

}  // namespace harness::kernels
