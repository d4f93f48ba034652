#include "workloads/inference/photographs.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

// Of its sides; what is longer would be scaled to more than memory holds.
constexpr int kMostStretched = 50;

at::Tensor per_channel(std::initializer_list<double> values) {
  return at::tensor(at::ArrayRef<double>(values), at::kFloat).view({1, 3, 1, 1});
}

}  // namespace

at::Tensor scaled_photograph(const Image& image, std::int64_t height, std::int64_t width) {
  at::Tensor pixels = at::empty({1, image.height, image.width, 3}, at::kByte);
  std::copy(image.pixels.begin(), image.pixels.end(), pixels.mutable_data_ptr<std::uint8_t>());
  // In whole numbers again behind each direction, as Pillow does it.
  const auto resized = [](const at::Tensor& maps, std::int64_t rows, std::int64_t columns) {
    return at::_upsample_bilinear2d_aa(maps, {rows, columns}, /*align_corners=*/false)
        .round_()
        .clamp_(0, 255);
  };
  const at::Tensor photograph = pixels.permute({0, 3, 1, 2}).to(at::kFloat).contiguous();
  return resized(resized(photograph, image.height, width), height, width);
}

at::Tensor middle_of_photograph(const Image& image, std::int64_t height, std::int64_t width,
                                const std::string& name) {
  const auto [thin, wide] = std::minmax(image.height, image.width);
  if (wide > kMostStretched * thin) {
    throw Error(printable(name), "is " + std::to_string(wide / thin) +
                                     " times as long as it is wide, " +
                                     std::to_string(kMostStretched) + " are the most");
  }
  // Of the side that is the tighter fit; whole pixels below, as torchvision has it.
  const bool wide_fits_tighter = height * image.width <= width * image.height;
  const std::int64_t wanted = (wide_fits_tighter ? width : height) * 8 / 7;
  const std::int64_t tight = wide_fits_tighter ? image.width : image.height;
  const std::int64_t rows = std::max(height, wanted * image.height / tight);
  const std::int64_t columns = std::max(width, wanted * image.width / tight);
  // Halves to even, as torchvision's crop.
  const auto margin = [](std::int64_t side, std::int64_t kept) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(side - kept) / 2));
  };
  return scaled_photograph(image, rows, columns)
      .narrow(2, margin(rows, height), height)
      .narrow(3, margin(columns, width), width);
}

at::Tensor by_imagenets_colours(const at::Tensor& pictures) {
  static const at::Tensor mean = per_channel({0.485, 0.456, 0.406});
  static const at::Tensor deviation = per_channel({0.229, 0.224, 0.225});
  return pictures.sub(mean).div_(deviation).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace harness::workloads
