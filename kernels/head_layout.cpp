#include "kernels/head_layout.hpp"

#include "kernels/check.hpp"

namespace harness::kernels {

at::Tensor flatten_level(const at::Tensor& level, int64_t columns) {
  require(level.dim() == 4 && columns > 0 && level.size(1) % columns == 0,
          "a head output must be (N, A*" + std::to_string(columns) + ", H, W)");
  const int64_t n = level.size(0);
  return level.view({n, level.size(1) / columns, columns, level.size(2), level.size(3)})
      .permute({0, 3, 4, 1, 2})
      .reshape({n, -1, columns});
}

at::Tensor flatten_levels(const std::vector<at::Tensor>& levels, int64_t columns) {
  std::vector<at::Tensor> flat;
  flat.reserve(levels.size());
  for (const at::Tensor& level : levels) flat.push_back(flatten_level(level, columns));
  return at::cat(flat, 1);
}

}  // namespace harness::kernels
