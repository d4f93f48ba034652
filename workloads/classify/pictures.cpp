#include "workloads/classify/pictures.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <initializer_list>

#include "workloads/data/fashion_mnist.hpp"

namespace harness::workloads {
namespace {

at::Tensor per_channel(std::initializer_list<double> values) {
  return at::tensor(at::ArrayRef<double>(values), at::kFloat).view({1, 3, 1, 1});
}

}  // namespace

at::Tensor prepared_picture(const std::uint8_t* grey) {
  static const at::Tensor mean = per_channel({0.485, 0.456, 0.406});
  static const at::Tensor deviation = per_channel({0.229, 0.224, 0.225});
  at::Tensor small = at::empty({1, 1, kFashionSide, kFashionSide}, at::kByte);
  std::copy_n(grey, small.numel(), small.mutable_data_ptr<std::uint8_t>());
  const at::Tensor large = at::upsample_bilinear2d(
      small.to(at::kFloat).div_(255), {kPictureSide, kPictureSide}, /*align_corners=*/false);
  return large.expand({1, 3, kPictureSide, kPictureSide})
      .sub(mean)
      .div_(deviation)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace harness::workloads
