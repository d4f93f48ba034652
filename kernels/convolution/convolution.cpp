#include "kernels/convolution/convolution.hpp"

#include <ATen/ATen.h>

#include <map>
#include <mutex>
#include <sstream>

namespace harness::kernels {
namespace {

at::Tensor channels_last(at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty(sizes, at::TensorOptions(type).memory_format(at::MemoryFormat::ChannelsLast));
}

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
  const auto weights = static_cast<double>(s.out_channels * s.in_channels / s.groups *
                                           s.kernel_height * s.kernel_width);
  const bool bf16 = s.type == at::kBFloat16;
  const double width = bf16 ? 2 : 4;
  const double taps =
      static_cast<double>(s.in_channels / s.groups * s.kernel_height * s.kernel_width);
  return {"convolution",
          implementation,
          direction,
          bf16 ? "bf16" : "f32",
          problem_of(s),
          2 * out * taps,
          width * (in + out) + 4 * weights};
}

Convolution* Convolution::find(const ConvolutionShape& shape) {
  static std::mutex mutex;
  static std::map<ConvolutionShape, std::unique_ptr<Convolution>> made;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = made.find(shape);
  if (found != made.end()) return found->second.get();
  std::unique_ptr<Convolution> convolution = make_grouped_convolution(shape);
  if (!convolution) convolution = make_few_positions_convolution(shape);
  if (!convolution) convolution = make_onednn_convolution(shape);
  return made.emplace(shape, std::move(convolution)).first->second.get();
}

at::Tensor Convolution::empty_output() const {
  return channels_last({shape_.batch, shape_.out_channels, shape_.out_height(), shape_.out_width()},
                       shape_.type);
}

at::Tensor Convolution::empty_input() const {
  return channels_last({shape_.batch, shape_.in_channels, shape_.in_height, shape_.in_width},
                       shape_.type);
}

at::Tensor Convolution::empty_weights() const {
  return channels_last({shape_.out_channels, shape_.in_channels / shape_.groups,
                        shape_.kernel_height, shape_.kernel_width},
                       at::kFloat);
}

}  // namespace harness::kernels
