// Gradient by the weights where a map has few positions but many channels (P7 is 7x7): one matrix
// product that writes the gradient as the parameter lies. oneDNN's convolution would write a
// blocked one, and to bring 22 MB of it back costs more than to compute it.
#include <ATen/ATen.h>

#include <cstring>
#include <memory>
#include <string>

#include "kernels/convolution/engine.hpp"
#include "kernels/convolution/kernel.hpp"

namespace harness::kernels {
namespace {

using Memory = dnnl::memory;

// From here on the blocked gradient's way back is small beside the product; with fewer channels it
// is small by itself.
constexpr int64_t kMostPositions = 64;
constexpr int64_t kFewestChannels = 128;

int64_t positions(const ConvolutionShape& s) { return s.batch * s.out_height() * s.out_width(); }

int64_t row_length(const ConvolutionShape& s) {
  return s.kernel_height * s.kernel_width * s.in_channels;
}

// Gradient (O, kh*kw*C) = output's gradient (P, O), transposed, times rows (P, kh*kw*C).
dnnl::matmul::primitive_desc describe(const ConvolutionShape& s) {
  const int64_t p = positions(s);
  const int64_t o = s.out_channels;
  const int64_t k = row_length(s);
  const Memory::data_type type = data_type_of(s.type);
  return {engine(), Memory::desc({o, p}, type, Memory::dims{1, o}),
          Memory::desc({p, k}, type, Memory::dims{k, 1}),
          Memory::desc({o, k}, Memory::data_type::f32, Memory::dims{k, 1}),
          scratchpad_attributes()};
}

class FewPositions final : public ConvolutionKernel {
 public:
  explicit FewPositions(const ConvolutionShape& shape)
      : ConvolutionKernel(shape), product_(describe(shape)), multiply_(product_) {}

  at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                              const at::Tensor& /*activated*/, const ConvolutionWeights& weights,
                              const at::Tensor& grad_bias) override {
    at::Tensor gradient = empty_weights();
    execute(multiply_,
            {{DNNL_ARG_SRC, as_memory(product_.src_desc(), grad_output)},
             {DNNL_ARG_WEIGHTS, as_memory(product_.weights_desc(), rows(input))},
             {DNNL_ARG_DST, as_memory(product_.dst_desc(), gradient)}},
            product_.scratchpad_desc());
    if (shape().bias_gradient) {
      at::Tensor sums = grad_bias;
      at::sum_out(sums, grad_output, {0, 2, 3}, false, at::kFloat);
    }
    if (weights.scale.defined()) gradient.mul_(weights.scale.view({-1, 1, 1, 1}));
    return gradient;
  }

  std::string implementation(ConvolutionPass /*pass*/) const override {
    return product_.impl_info_str();
  }

 private:
  // For each output position what the kernel sees of the input, 0 beyond its edges: (P, kh*kw*C).
  at::Tensor rows(const at::Tensor& input) const {
    const KernelScope scope("few-positions.rows");
    const ConvolutionShape& s = shape();
    at::Tensor rows = at::empty({positions(s), row_length(s)}, at::TensorOptions(s.type));
    const auto pixel = static_cast<size_t>(s.in_channels) * input.element_size();
    const auto* const from = static_cast<const char*>(input.const_data_ptr());
    auto* to = static_cast<char*>(rows.data_ptr());
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t out_y = 0; out_y < s.out_height(); ++out_y) {
        for (int64_t out_x = 0; out_x < s.out_width(); ++out_x) {
          for (int64_t tap = 0; tap < s.kernel_height * s.kernel_width; ++tap, to += pixel) {
            const int64_t y = out_y * s.stride - s.padding + tap / s.kernel_width;
            const int64_t x = out_x * s.stride - s.padding + tap % s.kernel_width;
            if (y < 0 || y >= s.in_height || x < 0 || x >= s.in_width) {
              std::memset(to, 0, pixel);
            } else {
              const auto index = static_cast<size_t>((n * s.in_height + y) * s.in_width + x);
              std::memcpy(to, from + index * pixel, pixel);
            }
          }
        }
      }
    }
    return rows;
  }

  dnnl::matmul::primitive_desc product_;
  dnnl::matmul multiply_;
};

bool computes(const ConvolutionShape& shape, ConvolutionPass pass) {
  return pass == ConvolutionPass::kWeights && shape.groups == 1;
}

bool preferred(const ConvolutionShape& shape, ConvolutionPass /*pass*/) {
  return positions(shape) <= kMostPositions && shape.out_channels >= kFewestChannels;
}

std::unique_ptr<ConvolutionKernel> make(const ConvolutionShape& shape,
                                        const ConvolutionPasses& /*passes*/) {
  try {
    return std::make_unique<FewPositions>(shape);
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
    return nullptr;
  }
}

const RegisterConvolutionKernel registered({"few-positions", computes, preferred, make});

}  // namespace
}  // namespace harness::kernels
