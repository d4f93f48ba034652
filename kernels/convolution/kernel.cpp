#include "kernels/convolution/kernel.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace harness::kernels {
namespace {

std::map<std::string, ConvolutionKernelInfo>& registered() {
  static std::map<std::string, ConvolutionKernelInfo> kernels;
  return kernels;
}

at::Tensor channels_last(at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty(sizes, at::TensorOptions(type).memory_format(at::MemoryFormat::ChannelsLast));
}

[[noreturn]] void not_made_for(const char* pass) {
  throw std::logic_error(std::string("a kernel that was not made for ") + pass);
}

// The fastest tile that is exact enough.
const char* winograd_for(const ConvolutionShape& shape, ConvolutionPass pass) {
  return pass == ConvolutionPass::kForward && shape.type == at::kFloat ? "winograd-2x2"
                                                                       : "winograd-4x4";
}

// Of shapes that no table knows. Few channels leave little to save beside the transforms, and small
// maps little beside the weights'. Products in float32 do not reach what tiles of registers (AMX)
// do in bf16.
bool winograd_pays(const ConvolutionShape& s, ConvolutionPass pass) {
  constexpr int64_t kFewestChannels = 32;
  const bool amx = onednn_instruction_set().find("amx") != std::string::npos;
  if (s.type == at::kBFloat16 && amx) return false;
  const int64_t positions = s.batch * s.out_height() * s.out_width();
  return std::min(s.in_channels, s.out_channels) >= kFewestChannels &&
         positions >= (pass == ConvolutionPass::kWeights ? 400 : 100);
}

bool takes_winograd(const ConvolutionShape& shape, ConvolutionPass pass,
                    ConvolutionAlgorithm algorithm) {
  switch (algorithm) {
    case ConvolutionAlgorithm::kDirect:
      return false;
    case ConvolutionAlgorithm::kWinograd:
      return true;
    default:
      return winograd_pays(shape, pass);
  }
}

}  // namespace

at::Tensor ConvolutionKernel::forward(const at::Tensor& /*input*/,
                                      const ConvolutionWeights& /*weights*/,
                                      const at::Tensor& /*bias*/, const at::Tensor& /*residual*/) {
  not_made_for("the forward pass");
}

at::Tensor ConvolutionKernel::backward_data(const at::Tensor& /*grad_output*/,
                                            const at::Tensor& /*activated*/,
                                            const ConvolutionWeights& /*weights*/) {
  not_made_for("the gradient by data");
}

at::Tensor ConvolutionKernel::backward_weights(const at::Tensor& /*input*/,
                                               const at::Tensor& /*grad_output*/,
                                               const at::Tensor& /*activated*/,
                                               const ConvolutionWeights& /*weights*/,
                                               const at::Tensor& /*grad_bias*/) {
  not_made_for("the gradient by weights");
}

at::Tensor ConvolutionKernel::empty_output() const {
  return channels_last({shape_.batch, shape_.out_channels, shape_.out_height(), shape_.out_width()},
                       shape_.type);
}

at::Tensor ConvolutionKernel::empty_input() const {
  return channels_last({shape_.batch, shape_.in_channels, shape_.in_height, shape_.in_width},
                       shape_.type);
}

at::Tensor ConvolutionKernel::empty_weights() const {
  return channels_last({shape_.out_channels, shape_.in_channels / shape_.groups,
                        shape_.kernel_height, shape_.kernel_width},
                       at::kFloat);
}

std::vector<const ConvolutionKernelInfo*> convolution_kernels() {
  std::vector<const ConvolutionKernelInfo*> all;
  for (const auto& [name, info] : registered()) all.push_back(&info);
  return all;
}

const ConvolutionKernelInfo& convolution_kernel(const std::string& name) {
  const auto found = registered().find(name);
  if (found == registered().end()) {
    throw std::invalid_argument("no kernel for convolutions is named '" + name + "'");
  }
  return found->second;
}

std::string choose_kernel(const ConvolutionShape& shape, ConvolutionPass pass,
                          ConvolutionAlgorithm algorithm) {
  if (takes_winograd(shape, pass, algorithm)) {
    const char* const name = winograd_for(shape, pass);
    if (convolution_kernel(name).computes(shape, pass)) return name;
  }
  for (const ConvolutionKernelInfo* info : convolution_kernels()) {
    if (info->preferred != nullptr && info->computes(shape, pass) && info->preferred(shape, pass)) {
      return info->name;
    }
  }
  return "onednn";
}

RegisterConvolutionKernel::RegisterConvolutionKernel(ConvolutionKernelInfo info) {
  const std::string name = info.name;
  if (!registered().emplace(name, std::move(info)).second) {
    throw std::logic_error("a kernel for convolutions is registered twice: " + name);
  }
}

}  // namespace harness::kernels
