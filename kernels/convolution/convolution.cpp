#include "kernels/convolution/convolution.hpp"

#include <ATen/ATen.h>

#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "kernels/convolution/kernel.hpp"

namespace harness::kernels {
namespace {

constexpr ConvolutionPass kPasses[] = {ConvolutionPass::kForward, ConvolutionPass::kData,
                                       ConvolutionPass::kWeights};

std::size_t index(ConvolutionPass pass) { return static_cast<std::size_t>(pass); }

}  // namespace

std::string problem_of(const ConvolutionShape& s) {
  std::ostringstream text;
  const auto along = [&](char axis, int64_t in, int64_t out, int64_t kernel) {
    text << "_i" << axis << in << 'o' << axis << out << 'k' << axis << kernel << 's' << axis
         << s.stride << 'd' << axis << 0 << 'p' << axis << s.padding;
  };
  if (s.groups > 1) text << 'g' << s.groups;
  text << "mb" << s.batch << "_ic" << s.in_channels << "oc" << s.out_channels;
  along('h', s.in_height, s.out_height(), s.kernel_height);
  along('w', s.in_width, s.out_width(), s.kernel_width);
  return text.str();
}

KernelFacts convolution_facts(const ConvolutionShape& s, const char* implementation,
                              const char* direction) {
  const auto in = static_cast<double>(s.batch * s.in_channels * s.in_height * s.in_width);
  const auto out = static_cast<double>(s.batch * s.out_channels * s.out_height() * s.out_width());
  const int64_t depth = s.in_channels / s.groups * s.kernel_height * s.kernel_width;
  const auto weights = static_cast<double>(s.out_channels * depth);
  const bool bf16 = s.type == at::kBFloat16;
  const double width = bf16 ? 2 : 4;
  return {"convolution",
          implementation,
          direction,
          bf16 ? "bf16" : "f32",
          problem_of(s),
          2 * out * static_cast<double>(depth),
          width * (in + out) + 4 * weights};
}

Convolution* Convolution::find(const ConvolutionShape& shape, ConvolutionAlgorithm algorithm) {
  using Key = std::pair<ConvolutionShape, ConvolutionAlgorithm>;
  static std::mutex mutex;
  static std::map<Key, std::unique_ptr<Convolution>> found;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [place, fresh] = found.try_emplace(Key{shape, algorithm});
  if (!fresh) return place->second.get();
  std::map<std::string, ConvolutionPasses> chosen;
  for (const ConvolutionPass pass : kPasses) {
    chosen[choose_kernel(shape, pass, algorithm)].insert(pass);
  }
  std::unique_ptr<Convolution> made(new Convolution(shape));
  for (const auto& [name, passes] : chosen) {
    const std::shared_ptr<ConvolutionKernel> kernel = convolution_kernel(name).make(shape, passes);
    if (!kernel) return nullptr;
    for (const ConvolutionPass pass : passes) made->kernels_.at(index(pass)) = kernel;
  }
  place->second = std::move(made);
  return place->second.get();
}

ConvolutionKernel& Convolution::kernel(ConvolutionPass pass) const {
  return *kernels_.at(index(pass));
}

Convolution& Convolution::direct() {
  Convolution* const found = find(shape_, ConvolutionAlgorithm::kDirect);
  if (found == nullptr) throw std::runtime_error("no direct convolution of " + problem_of(shape_));
  return *found;
}

at::Tensor Convolution::forward(const at::Tensor& input, const ConvolutionWeights& weights,
                                const at::Tensor& bias, const at::Tensor& residual) {
  at::Tensor output = kernel(ConvolutionPass::kForward).forward(input, weights, bias, residual);
  return output.defined() ? output : direct().forward(input, weights, bias, residual);
}

bool Convolution::applies_mask() const {
  return kernel(ConvolutionPass::kData).applies_mask() &&
         kernel(ConvolutionPass::kWeights).applies_mask();
}

at::Tensor Convolution::backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                                      const ConvolutionWeights& weights) {
  at::Tensor gradient =
      kernel(ConvolutionPass::kData).backward_data(grad_output, activated, weights);
  if (gradient.defined()) return gradient;
  const at::Tensor masked =
      activated.defined() ? at::threshold_backward(grad_output, activated, 0) : grad_output;
  return direct().backward_data(masked, {}, weights);
}

at::Tensor Convolution::backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                                         const at::Tensor& activated,
                                         const ConvolutionWeights& weights,
                                         const at::Tensor& grad_bias) {
  return kernel(ConvolutionPass::kWeights)
      .backward_weights(input, grad_output, activated, weights, grad_bias);
}

std::string Convolution::description() const {
  std::string text;
  for (const ConvolutionPass pass : kPasses) {
    text += (text.empty() ? "" : ", ") + kernel(pass).implementation(pass);
  }
  return text;
}

}  // namespace harness::kernels
