// A convolution's weights on their way to the layout that a oneDNN primitive wants.
#pragma once

#include <ATen/core/Tensor.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/convolution/convolution.hpp"

namespace harness::kernels {

/// (O, I, kh, kw), or (G, O / G, I / G, kh, kw).
dnnl::memory::dims weight_dims(const ConvolutionShape& shape);
/// As a parameter has them: float32, channels_last.
dnnl::memory::desc plain_weights(const ConvolutionShape& shape);

/// From a parameter, times its scale if it has one, to a layout. The primitive is made once: for a
/// small convolution that takes longer than to move the new weights of a step.
class WeightPacking {
 public:
  WeightPacking(const ConvolutionShape& shape, const dnnl::memory::desc& wanted);

  /// Kept until the parameter changes. Any number of threads may ask at once.
  at::Tensor of(const ConvolutionWeights& weights) const;

 private:
  at::Tensor pack(const ConvolutionWeights& weights) const;

  dnnl::memory::desc plain_;
  dnnl::memory::desc wanted_;
  dnnl::reorder reorder_{};  ///< none where the layout is the parameter's own
  dnnl::memory::desc scratch_{};
};

}  // namespace harness::kernels
