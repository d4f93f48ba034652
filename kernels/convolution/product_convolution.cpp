// The forward pass of a 1x1 convolution of stride 1 as one product: of all positions with the
// weights.
#include <ATen/ATen.h>

#include <memory>
#include <string>

#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/product_weights.hpp"
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

  std::string implementation(ConvolutionPass /*pass*/) const override { return product_name(); }

 private:
  Product product_{};  ///< all but where things lie
};

bool computes(const ConvolutionShape& s, ConvolutionPass pass) {
  return pass == ConvolutionPass::kForward && s.type == at::kFloat && s.groups == 1 &&
         s.kernel_height == 1 && s.kernel_width == 1 && s.stride == 1 && s.padding == 0;
}

std::unique_ptr<ConvolutionKernel> make(const ConvolutionShape& shape,
                                        const ConvolutionPasses& /*passes*/) {
  return std::make_unique<ProductConvolution>(shape);
}

const RegisterConvolutionKernel registered({"product", computes, nullptr, make});

}  // namespace
}  // namespace harness::kernels
