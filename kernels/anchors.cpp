#include "kernels/anchors.hpp"

#include <cmath>

namespace harness::kernels {

std::vector<MapSize> pyramid_sizes(int64_t height, int64_t width, int64_t levels) {
  MapSize map{halved(halved(halved(height))), halved(halved(halved(width)))};
  std::vector<MapSize> sizes;
  for (int64_t i = 0; i < levels; ++i) {
    sizes.push_back(map);
    map = {halved(map.height), halved(map.width)};
  }
  return sizes;
}

int64_t anchor_count(int64_t height, int64_t width, int64_t levels) {
  int64_t count = 0;
  for (const MapSize& map : pyramid_sizes(height, width, levels)) {
    count += map.height * map.width * kAnchorsPerLocation;
  }
  return count;
}

at::Tensor base_anchors(int64_t level, int64_t smallest) {
  const double size = static_cast<double>(smallest << level);
  const at::Tensor sizes = at::empty({3}, at::kFloat);
  sizes.data_ptr<float>()[0] = static_cast<float>(size);
  sizes.data_ptr<float>()[1] = static_cast<float>(std::trunc(size * std::pow(2.0, 1.0 / 3)));
  sizes.data_ptr<float>()[2] = static_cast<float>(std::trunc(size * std::pow(2.0, 2.0 / 3)));
  const at::Tensor ratios = at::pow(2.0, at::arange(-1, 2, at::kFloat));
  const at::Tensor height_ratios = at::sqrt(ratios);
  const at::Tensor width_ratios = at::reciprocal(height_ratios);
  const at::Tensor widths = (width_ratios.unsqueeze(1) * sizes.unsqueeze(0)).view(-1);
  const at::Tensor heights = (height_ratios.unsqueeze(1) * sizes.unsqueeze(0)).view(-1);
  return (at::stack({-widths, -heights, widths, heights}, 1) / 2).round();
}

std::vector<at::Tensor> level_anchors(int64_t height, int64_t width, int64_t count,
                                      int64_t smallest) {
  std::vector<at::Tensor> levels;
  for (const MapSize& map : pyramid_sizes(height, width, count)) {
    const at::Tensor x = at::arange(0, map.width, at::kFloat) * (width / map.width);
    const at::Tensor y = at::arange(0, map.height, at::kFloat) * (height / map.height);
    const at::Tensor grid_y = y.unsqueeze(1).expand({map.height, map.width}).reshape(-1);
    const at::Tensor grid_x = x.unsqueeze(0).expand({map.height, map.width}).reshape(-1);
    const at::Tensor centres = at::stack({grid_x, grid_y, grid_x, grid_y}, 1);
    const at::Tensor base = base_anchors(static_cast<int64_t>(levels.size()), smallest);
    levels.push_back((centres.unsqueeze(1) + base.unsqueeze(0)).reshape({-1, 4}));
  }
  return levels;
}

}  // namespace harness::kernels
