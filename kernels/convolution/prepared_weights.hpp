// Weights in the order a kernel reads them, kept until the parameter changes.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/convolution/convolution.hpp"

namespace harness::kernels {

/// Which order: a layout of oneDNN's choice, or one of our own kernels'.
struct WeightForm {
  enum class Own {
    kNone,
    kGroupedForward,
    kGroupedData,
    kWinogradForward,
    kWinogradData,
    kLibTorch,
    kDepthwise,  ///< [tap][channel]
    kProduct,
    kNarrowProduct,
    kInt8Values,
    kInt8Scales
  };
  dnnl::memory::desc onednn{};
  Own own = Own::kNone;
  int tile = 0;  ///< Winograd's
  bool operator==(const WeightForm& other) const {
    return own == other.own && tile == other.tile && onednn == other.onednn;
  }
};

/// What `make` gave for these weights in this form, made once for each state of the parameter (see
/// tensor_state.hpp): the five levels of a tower, all calls of a step, all queries share it. Made
/// at each call where nobody tells of changes. Another scale is another tensor. Any number of
/// threads may ask at once; only those that ask for one parameter wait for each other.
at::Tensor prepared_weights(const ConvolutionWeights& weights, const WeightForm& form,
                            const std::function<at::Tensor()>& make);

}  // namespace harness::kernels
