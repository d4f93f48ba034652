// How the body's convolutions follow one another, for whoever computes them.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {

/// Calls `convolve(layer, input, relu, residual)` for each layer of the body, by its place in
/// retinanet_layers(), with what the layers before gave. The maps of layer2 to layer4.
template <typename Convolve>
std::vector<at::Tensor> run_body(const Architecture& architecture, const at::Tensor& images,
                                 const Convolve& convolve) {
  std::size_t next = 0;
  at::Tensor x = convolve(next++, images, true, std::nullopt);
  // The dilation is given: for eight bits LibTorch reads both of its numbers.
  x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1}, {1, 1});
  std::vector<at::Tensor> maps;
  for (std::size_t layer = 0; layer < architecture.blocks.size(); ++layer) {
    for (std::int64_t block = 0; block < architecture.blocks[layer]; ++block) {
      at::Tensor out = convolve(next, x, true, std::nullopt);
      out = convolve(next + 1, out, true, std::nullopt);
      const at::Tensor identity = block == 0 ? convolve(next + 3, x, false, std::nullopt) : x;
      x = convolve(next + 2, out, true, identity);
      next += block == 0 ? 4 : 3;
    }
    if (layer > 0) maps.push_back(x);
  }
  return maps;
}

}  // namespace harness::workloads
