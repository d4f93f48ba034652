#include "kernels/python/torch_conv_block.hpp"

#include <string>
#include <utility>

#include "kernels/check.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/convolution/convolution.hpp"
#include "kernels/convolution/folded_norm.hpp"
#include "kernels/runtime/threads.hpp"

namespace harness::kernels::torch_conv_block {
namespace {

constexpr int64_t kMostStrideAndPadding = 1 << 16;  // nothing below overflows

at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

/// The same values as a tensor of its own: prepared weights are kept for as long as a parameter's
/// version counter stands still, and Python code often writes through `.data`, which it does not
/// count.
at::Tensor unknown(const at::Tensor& tensor) { return tensor.variable_data(); }

struct Geometry {
  int64_t stride, padding, groups;
};

/// The output's sizes. Looks at no values, so that it serves a compiler's tensors too.
std::array<c10::SymInt, 4> check(at::ScalarType type, c10::SymIntArrayRef input,
                                 const at::Tensor& weight, at::TensorList norm,
                                 const Geometry& geometry) {
  const int64_t stride = geometry.stride;
  const int64_t padding = geometry.padding;
  const int64_t groups = geometry.groups;
  require(type == at::kFloat || type == at::kBFloat16,
          std::string("conv_block takes fp32 or bf16 activations, not ") + at::toString(type));
  require(weight.scalar_type() == at::kFloat,
          std::string("conv_block takes fp32 weights, not ") + at::toString(weight.scalar_type()));
  require(input.size() == 4 && weight.dim() == 4 && groups > 0 &&
              input[1] == weight.sym_size(1) * groups && weight.sym_size(0) % groups == 0,
          "conv_block needs an input (N, C, H, W) and weights (O, C/groups, k, k)");
  require(stride > 0 && stride <= kMostStrideAndPadding && padding >= 0 &&
              padding <= kMostStrideAndPadding,
          "conv_block: a stride below 1, a padding below 0, or one beyond reason");
  require(norm.empty() || norm.size() == 4,
          "conv_block: a norm is [weight, bias, running_mean, running_var]");
  for (const at::Tensor& values : norm) {
    require(values.scalar_type() == at::kFloat && values.dim() == 1 &&
                values.sym_size(0) == weight.sym_size(0) && values.device() == weight.device(),
            "conv_block: a norm has four fp32 values an output channel, on the weights' device");
  }
  const auto extent = [&](size_t i) {
    const c10::SymInt padded = input[i] + 2 * padding;
    const c10::SymInt kernel = weight.sym_size(static_cast<int64_t>(i));
    require(padded >= kernel && kernel > 0, "conv_block: the kernel is larger than the input");
    return (padded - kernel) / stride + 1;
  };
  require(input[0] > 0 && input[1] > 0 && weight.sym_size(0) > 0, "conv_block: an empty tensor");
  return {input[0], weight.sym_size(0), extent(2), extent(3)};
}

/// check() for the forward pass.
std::array<c10::SymInt, 4> check_all(const at::Tensor& input, const at::Tensor& weight,
                                     const MaybeTensor& bias, at::TensorList norm,
                                     const Geometry& geometry, const MaybeTensor& residual) {
  require(input.device() == weight.device() && (!bias || bias->device() == input.device()) &&
              (!residual || residual->device() == input.device()),
          "conv_block needs all tensors on one device");
  auto sizes = check(input.scalar_type(), input.sym_sizes(), weight, norm, geometry);
  require(!bias || norm.empty(), "conv_block takes a bias or a norm, not both");
  require(!bias || (bias->scalar_type() == at::kFloat && bias->dim() == 1 &&
                    bias->sym_size(0) == weight.sym_size(0)),
          "conv_block: the bias has one fp32 value an output channel");
  require(!residual || (residual->sym_sizes() == c10::SymIntArrayRef(sizes) &&
                        residual->scalar_type() == input.scalar_type()),
          "conv_block: the residual has the output's shape and type");
  return sizes;
}

/// Null where the machine has no convolution of that type (bf16 without AVX-512).
Convolution* find(const ConvolutionShape& shape) {
  Convolution* const found = Convolution::find(shape, ConvolutionAlgorithm::kTuned);
  require(found != nullptr || shape.type != at::kFloat,
          "conv_block: oneDNN has no such convolution on this machine");
  return found;
}

MaybeTensor to_float(const MaybeTensor& tensor) {
  return tensor ? MaybeTensor(tensor->to(at::kFloat)) : tensor;
}

ConvolutionShape shape_of(at::ScalarType type, at::IntArrayRef input, const at::Tensor& weight,
                          const Geometry& geometry) {
  return {.batch = input[0],
          .in_channels = input[1],
          .in_height = input[2],
          .in_width = input[3],
          .out_channels = weight.size(0),
          .kernel_height = weight.size(2),
          .kernel_width = weight.size(3),
          .stride = geometry.stride,
          .padding = geometry.padding,
          .groups = geometry.groups,
          .type = type,
          .threads = threads()};
}

/// Scale and shift, undefined without a norm.
std::pair<at::Tensor, at::Tensor> folded(at::TensorList norm, double eps) {
  if (norm.empty()) return {};
  return fold({unknown(norm[0]), unknown(norm[1]), unknown(norm[2]), unknown(norm[3]), eps});
}

void check_backward(const at::Tensor& gradient, const MaybeTensor& input,
                    c10::SymIntArrayRef input_size, const at::Tensor& weight,
                    const MaybeTensor& activated, at::TensorList norm, const Geometry& geometry,
                    std::array<bool, 3> wanted) {
  const auto sizes = check(gradient.scalar_type(), input_size, weight, norm, geometry);
  const auto fits = [&](const at::Tensor& tensor, c10::SymIntArrayRef expected) {
    return tensor.sym_sizes() == expected && tensor.scalar_type() == gradient.scalar_type() &&
           tensor.device() == weight.device();
  };
  require(fits(gradient, sizes) && (!activated || fits(*activated, sizes)) &&
              (!input || fits(*input, input_size)) && (!wanted[1] || input),
          "conv_block_backward: tensors that do not belong together");
}

}  // namespace

at::Tensor forward(const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& bias,
                   at::TensorList norm, double eps, int64_t stride, int64_t padding, int64_t groups,
                   bool relu, const MaybeTensor& residual) {
  const Geometry geometry{stride, padding, groups};
  check_all(input, weight, bias, norm, geometry, residual);
  ConvolutionShape shape = shape_of(input.scalar_type(), input.sizes(), weight, geometry);
  shape.bias = bias || !norm.empty();
  shape.relu = relu;
  shape.residual = residual.has_value();
  Convolution* const convolution = find(shape);
  if (convolution == nullptr) {  // in float32 then, rounded in the end
    return forward(input.to(at::kFloat), weight, bias, norm, eps, stride, padding, groups, relu,
                   to_float(residual))
        .to(shape.type);
  }
  auto [scale, shift] = folded(norm, eps);
  if (bias) shift = bias->contiguous();
  return convolution->forward(channels_last(input), {unknown(weight), scale}, shift,
                              residual ? channels_last(*residual) : at::Tensor());
}

at::Tensor forward_shape(const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& bias,
                         at::TensorList norm, double /*eps*/, int64_t stride, int64_t padding,
                         int64_t groups, bool /*relu*/, const MaybeTensor& residual) {
  const auto sizes = check_all(input, weight, bias, norm, {stride, padding, groups}, residual);
  return at::empty_symint(sizes, input.options().memory_format(at::MemoryFormat::ChannelsLast));
}

Gradients backward(const at::Tensor& gradient, const MaybeTensor& input, at::IntArrayRef input_size,
                   const at::Tensor& weight, const MaybeTensor& activated, at::TensorList norm,
                   double eps, int64_t stride, int64_t padding, int64_t groups,
                   std::array<bool, 3> wanted) {
  const Geometry geometry{stride, padding, groups};
  check_backward(gradient, input, c10::fromIntArrayRefSlow(input_size), weight, activated, norm,
                 geometry, wanted);
  ConvolutionShape shape = shape_of(gradient.scalar_type(), input_size, weight, geometry);
  shape.relu = activated.has_value();
  shape.bias = shape.bias_gradient = wanted[2];
  Convolution* const convolution = find(shape);
  if (convolution == nullptr) {
    const auto [by_input, by_weight, by_bias] =
        backward(gradient.to(at::kFloat), to_float(input), input_size, weight, to_float(activated),
                 norm, eps, stride, padding, groups, wanted);
    const at::Tensor none = at::empty({0}, gradient.options());
    return {by_input.to(shape.type), wanted[1] ? by_weight : none, wanted[2] ? by_bias : none};
  }
  const ConvolutionWeights weights{unknown(weight), folded(norm, eps).first};
  at::Tensor dense = channels_last(gradient);
  at::Tensor mask;
  if (activated) {
    mask = channels_last(*activated);
    if (!convolution->applies_mask()) {
      dense = at::threshold_backward(dense, mask, 0);
      mask = at::Tensor();
    }
  }
  const at::Tensor none = at::empty({0}, gradient.options());
  Gradients result{none, none, none};
  auto& [by_input, by_weight, by_bias] = result;
  if (wanted[0]) by_input = convolution->backward_data(dense, mask, weights);
  if (wanted[2] && wanted[1]) by_bias = at::empty({shape.out_channels}, at::kFloat);
  if (wanted[1]) {
    by_weight = convolution->backward_weights(channels_last(*input), dense, mask, weights, by_bias);
  } else if (wanted[2]) {
    by_bias = convolution->backward_bias(dense, mask);
  }
  return result;
}

Gradients backward_shapes(const at::Tensor& gradient, const MaybeTensor& input,
                          c10::SymIntArrayRef input_size, const at::Tensor& weight,
                          const MaybeTensor& activated, at::TensorList norm, double /*eps*/,
                          int64_t stride, int64_t padding, int64_t groups,
                          std::array<bool, 3> wanted) {
  check_backward(gradient, input, input_size, weight, activated, norm, {stride, padding, groups},
                 wanted);
  const auto layout = at::MemoryFormat::ChannelsLast;
  const at::Tensor none = at::empty({0}, gradient.options());
  return {wanted[0] ? at::empty_symint(input_size, gradient.options().memory_format(layout)) : none,
          wanted[1] ? at::empty_like(weight, layout) : none,
          wanted[2] ? at::empty_symint({weight.sym_size(0)}, gradient.options().dtype(at::kFloat))
                    : none};
}

}  // namespace harness::kernels::torch_conv_block
