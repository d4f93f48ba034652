#include "kernels/convolution/product_weights.hpp"

#include <ATen/ATen.h>

#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/products/products.hpp"

namespace harness::kernels {

namespace {

/// (O, C), dense, times the scale.
at::Tensor scaled(const ConvolutionWeights& weights) {
  const at::Tensor source = weights.weight.detach()
                                .reshape({weights.weight.size(0), weights.weight.size(1)})
                                .contiguous();
  return weights.scale.defined() ? source * weights.scale.view({-1, 1}) : source;
}

ProductWeights described(const at::Tensor& source) {
  const int64_t depth = source.size(1);
  return {source.const_data_ptr<float>(), depth, source.size(0), depth, 1};
}

}  // namespace

at::Tensor product_weights(const ConvolutionWeights& weights) {
  return prepared_weights(weights, {.own = WeightForm::Own::kProduct}, [&] {
    const at::Tensor source = scaled(weights);
    const std::size_t size = packed_product_floats(source.size(1), source.size(0));
    at::Tensor packed = at::empty({static_cast<int64_t>(size)});
    pack_product(described(source), packed.mutable_data_ptr<float>());
    return packed;
  });
}

at::Tensor narrow_product_weights(const ConvolutionWeights& weights) {
  return prepared_weights(weights, {.own = WeightForm::Own::kNarrowProduct}, [&] {
    const at::Tensor source = scaled(weights);
    const std::size_t size = packed_narrow_product_size(source.size(1), source.size(0));
    at::Tensor packed = at::empty({static_cast<int64_t>(size)}, at::kBFloat16);
    pack_narrow_product(described(source), static_cast<Bf16*>(packed.mutable_data_ptr()));
    return packed;
  });
}

}  // namespace harness::kernels
