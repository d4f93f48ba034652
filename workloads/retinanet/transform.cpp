#include "workloads/retinanet/transform.hpp"

#include <ATen/core/grad_mode.h>

#include <array>

#include "harness/base/error.hpp"

namespace harness::workloads {
namespace {

constexpr std::array<float, 3> kMean = {0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> kDeviation = {0.229F, 0.224F, 0.225F};

at::Tensor per_channel(const std::array<float, 3>& values) {
  at::Tensor tensor = at::empty({3, 1, 1}, at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

}  // namespace

at::Tensor resize_boxes(const at::Tensor& boxes, MapSize from, MapSize to) {
  // In float32 throughout, as the reference computes its ratios.
  const float y = static_cast<float>(to.height) / static_cast<float>(from.height);
  const float x = static_cast<float>(to.width) / static_cast<float>(from.width);
  return at::stack({boxes.select(1, 0) * x, boxes.select(1, 1) * y, boxes.select(1, 2) * x,
                    boxes.select(1, 3) * y},
                   1);
}

Target resize_target(const Target& target, MapSize from, MapSize to, std::size_t image) {
  const at::Tensor boxes = resize_boxes(target.boxes, from, to);
  if ((boxes.slice(1, 2, 4) <= boxes.slice(1, 0, 2)).any().item<bool>()) {
    throw Error("image " + std::to_string(image), "a box has no width or no height");
  }
  return {boxes, target.labels};
}

Batch transform(const std::vector<at::Tensor>& images, const std::vector<Target>& targets,
                int64_t height, int64_t width) {
  const at::NoGradGuard no_grad;
  const at::Tensor mean = per_channel(kMean);
  const at::Tensor deviation = per_channel(kDeviation);
  Batch batch;
  std::vector<at::Tensor> resized;
  for (size_t i = 0; i < images.size(); ++i) {
    const at::Tensor& image = images[i];
    if (image.dim() != 3 || image.size(0) != 3 || image.scalar_type() != at::kFloat) {
      throw Error("image " + std::to_string(i), "not a float32 tensor of shape (3, H, W)");
    }
    const MapSize size{image.size(1), image.size(2)};
    const at::Tensor normalised = (image - mean).div_(deviation);
    // An image of that size already would come out of the interpolation as it went in.
    resized.push_back(
        size.height == height && size.width == width
            ? normalised
            : at::upsample_bilinear2d(normalised.unsqueeze(0), {height, width}, false).squeeze(0));
    batch.original_sizes.push_back(size);
    if (targets.empty()) continue;
    batch.targets.push_back(resize_target(targets.at(i), size, {height, width}, i));
  }
  batch.images = at::stack(resized).contiguous(at::MemoryFormat::ChannelsLast);
  return batch;
}

}  // namespace harness::workloads
