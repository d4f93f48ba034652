// The operators behind torch.ops.harness.conv_block, without autograd: see torch_library.cpp.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <optional>
#include <tuple>

namespace harness::kernels::torch_conv_block {

using MaybeTensor = std::optional<at::Tensor>;
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  ///< by input, weight, bias

/// As ConvBlockArguments in conv_block.hpp, on the CPU: input and residual fp32 or bf16, the rest
/// fp32; `norm` is [weight, bias, running_mean, running_var] or empty, and then there may be a
/// bias. Throws std::invalid_argument for what does not belong together.
at::Tensor forward(const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& bias,
                   at::TensorList norm, double eps, int64_t stride, int64_t padding, int64_t groups,
                   bool relu, const MaybeTensor& residual);
/// An empty tensor like the result, for a compiler's tensors, which have no values.
at::Tensor forward_shape(const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& bias,
                         at::TensorList norm, double eps, int64_t stride, int64_t padding,
                         int64_t groups, bool relu, const MaybeTensor& residual);

/// The gradients that are `wanted`, the others empty (0). `input` is only needed for the one by the
/// weight; `activated`: the output, if there was a ReLU and `gradient` is not masked by it yet.
Gradients backward(const at::Tensor& gradient, const MaybeTensor& input, at::IntArrayRef input_size,
                   const at::Tensor& weight, const MaybeTensor& activated, at::TensorList norm,
                   double eps, int64_t stride, int64_t padding, int64_t groups,
                   std::array<bool, 3> wanted);
Gradients backward_shapes(const at::Tensor& gradient, const MaybeTensor& input,
                          c10::SymIntArrayRef input_size, const at::Tensor& weight,
                          const MaybeTensor& activated, at::TensorList norm, double eps,
                          int64_t stride, int64_t padding, int64_t groups,
                          std::array<bool, 3> wanted);

}  // namespace harness::kernels::torch_conv_block
