// Weights in the order a kernel reads them, kept until the parameter changes.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/convolution/convolution.hpp"

namespace harness::kernels {

/// Which order: a layout of oneDNN's choice, or one of our own kernels'.
struct WeightForm {
  enum class Own { kNone, kGroupedForward, kGroupedData };
  dnnl::memory::desc onednn{};
  Own own = Own::kNone;
  bool operator==(const WeightForm& other) const {
    return own == other.own && onednn == other.onednn;
  }
};

/// What `make` gave for these weights in this form, made once for each state of the parameter: the
/// five levels of a tower, and all calls of a step, share it. A parameter that changes must say so
/// through its version counter, as every ATen operator does; another scale is another tensor.
at::Tensor prepared_weights(const ConvolutionWeights& weights, const WeightForm& form,
                            const std::function<at::Tensor()>& make);

}  // namespace harness::kernels
