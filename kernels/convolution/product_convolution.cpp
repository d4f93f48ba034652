// A 1x1 convolution as one product: forward, with stride 1, of all positions with the weights; for
// the gradient by the weights of the output's gradient with the input, over all positions.
#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/product_weights.hpp"
#include "kernels/products/outer_products.hpp"
#include "kernels/products/products.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

class ProductConvolution final : public ConvolutionKernel {
 public:
  explicit ProductConvolution(const ConvolutionShape& s) : ConvolutionKernel(s) {
    product_.rows = s.batch * s.in_height * s.in_width;
    product_.depth = product_.from_row = s.in_channels;
    product_.columns = product_.to_row = product_.residual_row = s.out_channels;
    if (s.relu) {
      product_.activation = Activation::kClip;
      product_.high = static_cast<float>(s.ceiling);
    }
    gradient_.lines = s.batch * s.out_height();
    gradient_.width = s.out_width();
    gradient_.left_columns = s.out_channels;
    gradient_.right_columns = s.in_channels;
    gradient_.right_row = s.stride * s.in_channels;
    for (int64_t line = 0; line < gradient_.lines; ++line) {
      const int64_t y = line / s.out_height() * s.in_height + line % s.out_height() * s.stride;
      lines_.push_back(y * s.in_width * s.in_channels);
    }
    gradient_.right_lines = lines_.data();
  }

  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& residual) override {
    const at::Tensor packed = product_weights(weights);
    at::Tensor output = empty_output();
    const Stage stage("convolution");
    const KernelScope scope("product.forward", [&] {
      return convolution_facts(shape(), product_name(), "forward_training");
    });
    Product product = product_;
    product.from = input.const_data_ptr<float>();
    product.packed = packed.const_data_ptr<float>();
    product.bias = floats_or_null(bias);
    product.residual = floats_or_null(residual);
    product.to = output.mutable_data_ptr<float>();
    multiply(product);
    return output;
  }

  at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                              const at::Tensor& /*activated*/, const ConvolutionWeights& weights,
                              const at::Tensor& grad_bias) override {
    at::Tensor gradient = empty_weights();
    OuterProducts products = gradient_;
    const at::Tensor workspace =
        at::empty({static_cast<int64_t>(outer_products_workspace(products))}, at::kFloat);
    const Stage stage("convolution");
    const KernelScope scope("product.backward_weights", [&] {
      return convolution_facts(shape(), product_name(), "backward_weights");
    });
    products.left = grad_output.const_data_ptr<float>();
    products.right = input.const_data_ptr<float>();
    products.scale = floats_or_null(weights.scale);
    products.to = gradient.data_ptr<float>();
    if (shape().bias_gradient) products.left_sums = grad_bias.data_ptr<float>();
    outer_products(products, workspace.data_ptr<float>());
    return gradient;
  }

  std::string implementation(ConvolutionPass /*pass*/) const override { return product_name(); }

 private:
  // All but where things lie.
  Product product_{};
  OuterProducts gradient_{};
  std::vector<int64_t> lines_{};  ///< where those of the input begin
};

bool computes(const ConvolutionShape& s, ConvolutionPass pass) {
  const bool product = s.type == at::kFloat && s.groups == 1 && s.kernel_height == 1 &&
                       s.kernel_width == 1 && s.padding == 0;
  if (pass == ConvolutionPass::kForward) return product && s.stride == 1;
  return pass == ConvolutionPass::kWeights && product && !s.clipped();
}

std::unique_ptr<ConvolutionKernel> make(const ConvolutionShape& shape,
                                        const ConvolutionPasses& /*passes*/) {
  return std::make_unique<ProductConvolution>(shape);
}

const RegisterConvolutionKernel registered({"product", computes, nullptr, make});

}  // namespace
}  // namespace harness::kernels
