#include "kernels/convolution/convolution.hpp"

#include <ATen/ATen.h>

#include <map>
#include <mutex>

namespace harness::kernels {
namespace {

at::Tensor channels_last(at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty(sizes, at::TensorOptions(type).memory_format(at::MemoryFormat::ChannelsLast));
}

}  // namespace

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
