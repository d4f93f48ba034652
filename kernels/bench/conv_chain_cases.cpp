#include <ATen/core/grad_mode.h>

#include <cmath>

#include "kernels/bench/case.hpp"
#include "kernels/conv_chain/conv_chain.hpp"

namespace harness::kernels::bench {
namespace {

/// As MobileNetV2's: a stem, then blocks that widen the maps six times, filter each channel and
/// narrow them again.
struct Size {
  int64_t batch, side;
  std::vector<int64_t> channels;  ///< of the blocks; each second one adds its input
};

ConvChainLayer layer(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t groups,
                     bool relu) {
  const int64_t fan_in = in / groups * kernel * kernel;
  return {.weight = at::randn({out, in / groups, kernel, kernel}) /
                    std::sqrt(static_cast<double>(fan_in)),
          .bias = at::randn({out}) * 0.1,
          .stride = stride,
          .padding = (kernel - 1) / 2,
          .groups = groups,
          .relu = relu,
          .ceiling = relu ? 6 : kNoCeiling};
}

ConvChainArguments chain_of(const Size& size) {
  ConvChainArguments chain{.mean = true};
  int64_t channels = 32;
  chain.layers.push_back(layer(3, channels, 3, 2, 1, true));
  for (const int64_t next : size.channels) {
    const int64_t wide = 6 * channels;
    const bool same = next == channels;
    const std::size_t first = chain.layers.size();
    chain.layers.push_back(layer(channels, wide, 1, 1, 1, true));
    chain.layers.push_back(layer(wide, wide, 3, same ? 1 : 2, wide, true));
    chain.layers.push_back(layer(wide, next, 1, 1, 1, false));
    if (same) chain.layers.back().adds_input_of = first;
    channels = next;
  }
  return chain;
}

class ConvChainCase : public Case {
 public:
  ConvChainCase(const Size& size, const std::string& implementation) {
    at::manual_seed(5);
    chain_ = conv_chain_operator().get(implementation)(chain_of(size));
    maps_ =
        at::randn({size.batch, 3, size.side, size.side}).contiguous(at::MemoryFormat::ChannelsLast);
  }

  void run() override {
    const at::NoGradGuard no_gradient;
    means_ = chain_->forward(maps_);
  }
  std::vector<at::Tensor> results() const override { return {means_}; }

 private:
  std::unique_ptr<ConvChain> chain_{};
  at::Tensor maps_{}, means_{};
};

CaseInfo conv_chain_case(const Size& size, bool typical) {
  const auto batch = static_cast<double>(size.batch);
  double flops = 0;
  double weights = 0;
  int64_t side = size.side;
  for (const ConvChainLayer& one : chain_of(size).layers) {
    side = (side - 1) / one.stride + 1;
    const auto count = static_cast<double>(one.weight.numel());
    flops += 2 * batch * static_cast<double>(side * side) * count;
    weights += count;
  }
  CaseInfo info{.op = &conv_chain_operator(),
                .shape = "mb" + std::to_string(size.batch) + "ih" + std::to_string(size.side) +
                         "_" + std::to_string(1 + 3 * size.channels.size()) + "layers",
                .typical = typical,
                .flops = flops,
                .bytes = 4 * (weights + 3 * batch * static_cast<double>(size.side * size.side)),
                .tolerance = 1e-5};
  info.make = [size](const std::string& implementation) {
    return std::make_unique<ConvChainCase>(size, implementation);
  };
  return info;
}

}  // namespace

// Small, and one picture or several through most of MobileNetV2's shapes.
std::vector<CaseInfo> conv_chain_cases() {
  const std::vector<int64_t> usual{24, 24, 32, 32, 64, 64, 64, 160, 160};
  return {conv_chain_case({2, 12, {16}}, false), conv_chain_case({1, 96, usual}, true),
          conv_chain_case({32, 96, usual}, true)};
}

}  // namespace harness::kernels::bench
