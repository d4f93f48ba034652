// `conv-chain` as one parallel region over own kernels (chain.hpp). In bf16, and for layers that
// these kernels cannot compute, conv-block=custom one after another.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kernels/check.hpp"
#include "kernels/conv_chain/chain.hpp"
#include "kernels/conv_chain/conv_chain.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

/// None where a layer is none for it. What it points to is read while the chain is made.
std::optional<Chain> own_chain(const ConvChainArguments& arguments) {
  std::vector<at::Tensor> dense;  // keeps what the layers point to
  std::vector<ChainLayer> layers;
  const auto floats = [&](const at::Tensor& tensor) {
    dense.push_back(tensor.detach().contiguous(at::MemoryFormat::Contiguous));
    return dense.back().const_data_ptr<float>();
  };
  for (const ConvChainLayer& layer : arguments.layers) {
    ChainLayer own{.out_channels = layer.weight.size(0),
                   .in_channels = layer.weight.size(1) * layer.groups,
                   .kernel = layer.weight.size(2),
                   .stride = layer.stride,
                   .padding = layer.padding,
                   .groups = layer.groups,
                   .weights = floats(layer.weight),
                   .bias = layer.bias ? floats(*layer.bias) : nullptr,
                   .adds_input_of = layer.adds_input_of};
    if (layer.relu) {
      own.low = 0;
      own.high = static_cast<float>(layer.ceiling);
    }
    layers.push_back(own);
  }
  if (!Chain::computes(layers)) return std::nullopt;
  return std::optional<Chain>(std::in_place, layers, arguments.mean);
}

class CustomChain final : public ConvChain {
 public:
  explicit CustomChain(const ConvChainArguments& arguments)
      : mean_(arguments.mean),
        trained_(std::any_of(arguments.layers.begin(), arguments.layers.end(),
                             [](const ConvChainLayer& layer) {
                               return layer.weight.requires_grad() ||
                                      (layer.bias && layer.bias->requires_grad());
                             })),
        composed_(composed_chain(arguments, conv_block_operator().get("custom"))),
        chain_(own_chain(arguments)) {}

  at::Tensor forward(const at::Tensor& maps) override {
    const bool trained = at::GradMode::is_enabled() && (trained_ || maps.requires_grad());
    if (!chain_ || trained || maps.scalar_type() != at::kFloat ||
        at::autocast::is_autocast_enabled(at::kCPU)) {
      return composed_->forward(maps);
    }
    require(maps.dim() == 4 && maps.size(1) == chain_->in_channels(),
            "conv-chain: maps (N, C, H, W) with as many channels as the first layer takes");
    const Chain::Pictures pictures{maps.size(0), maps.size(2), maps.size(3)};
    require(chain_->fits(pictures.height, pictures.width), "conv-chain: maps too small");
    const MapSize result = chain_->result(pictures.height, pictures.width);
    const at::Tensor input = channels_last(maps);
    at::Tensor output =
        mean_ ? at::empty({pictures.count, result.channels})
              : at::empty({pictures.count, result.channels, result.height, result.width},
                          at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast));
    const Chain::Plan plan = chain_->plan(pictures);
    at::Tensor scratch = at::empty({static_cast<int64_t>(plan.scratch_floats)});
    const KernelScope scope("conv-chain", [&] { return facts(pictures); });
    chain_->run(plan, input.const_data_ptr<float>(), output.mutable_data_ptr<float>(),
                scratch.mutable_data_ptr<float>());
    return output;
  }

 private:
  KernelFacts facts(const Chain::Pictures& pictures) const {
    const auto count = static_cast<double>(pictures.count);
    static const std::string name = std::string("chain:") + product_name();
    return {.kind = "convolution",
            .implementation = name,
            .direction = "forward_inference",
            .type = "f32",
            .problem = "mb" + std::to_string(pictures.count) + "_ic" +
                       std::to_string(chain_->in_channels()) + "_ih" +
                       std::to_string(pictures.height) + "_iw" + std::to_string(pictures.width) +
                       "_layers" + std::to_string(chain_->layers()),
            .flops = count * chain_->flops(pictures.height, pictures.width)};
  }

  bool mean_;
  bool trained_;  ///< some weight wants a gradient
  std::unique_ptr<ConvChain> composed_;
  std::optional<Chain> chain_;
};

}  // namespace

const Register<ConvChainFn> registered_conv_chain_custom{
    conv_chain_operator(),
    {"custom", "All layers in one parallel region; pictures of a batch stay with their thread.",
     [](const ConvChainArguments& arguments) -> std::unique_ptr<ConvChain> {
       return std::make_unique<CustomChain>(arguments);
     }}};

}  // namespace harness::kernels
