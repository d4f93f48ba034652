#include "kernels/conv_chain/conv_chain.hpp"

#include <ATen/ATen.h>

#include <string>

#include "kernels/check.hpp"

namespace harness::kernels {
namespace {

void check_layers(const std::vector<ConvChainLayer>& layers) {
  require(!layers.empty(), "conv-chain: no layer");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ConvChainLayer& layer = layers[i];
    const std::string which = "conv-chain: layer " + std::to_string(i);
    require(layer.weight.dim() == 4 && layer.weight.scalar_type() == at::kFloat &&
                layer.weight.size(2) == layer.weight.size(3) && layer.weight.numel() > 0,
            which + " needs float32 weights (O, C/groups, k, k)");
    require(layer.groups > 0 && layer.weight.size(0) % layer.groups == 0 && layer.stride > 0 &&
                layer.padding >= 0,
            which + ": groups or stride below 1, or a padding below 0");
    require(i == 0 || layers[i - 1].weight.size(0) == layer.weight.size(1) * layer.groups,
            which + " takes other channels than the one before gives");
    require(!layer.bias || (layer.bias->sizes() == at::IntArrayRef{layer.weight.size(0)} &&
                            layer.bias->scalar_type() == at::kFloat),
            which + ": the bias has one value an output channel, float32");
    require(!layer.adds_input_of || *layer.adds_input_of <= i,
            which + " adds the input of one behind it");
  }
}

class ComposedChain final : public ConvChain {
 public:
  ComposedChain(const ConvChainArguments& arguments, ConvBlockFn* conv_block)
      : arguments_(arguments), conv_block_(conv_block) {
    check_layers(arguments.layers);
    last_added_.resize(arguments.layers.size());
    for (std::size_t i = 0; i < arguments.layers.size(); ++i) {
      const auto& added = arguments.layers[i].adds_input_of;
      if (added) last_added_[*added] = i;
    }
  }

  at::Tensor forward(const at::Tensor& maps) override {
    check_maps(arguments_.layers, maps);
    std::vector<at::Tensor> inputs;
    at::Tensor now = maps;
    for (std::size_t i = 0; i < arguments_.layers.size(); ++i) {
      const ConvChainLayer& layer = arguments_.layers[i];
      // No map is held for longer than somebody needs it, as in the modules of PyTorch.
      inputs.push_back(last_added_[i] ? now : at::Tensor());
      const auto& added = layer.adds_input_of;
      now = conv_block_({.input = now,
                         .weight = layer.weight,
                         .bias = layer.bias,
                         .stride = layer.stride,
                         .padding = layer.padding,
                         .groups = layer.groups,
                         .relu = layer.relu,
                         .ceiling = layer.ceiling,
                         .residual = added ? std::optional(inputs[*added]) : std::nullopt,
                         .narrow_output = i + 1 < arguments_.layers.size()});
      if (added && last_added_[*added] == i) inputs[*added] = at::Tensor();
    }
    return arguments_.mean ? now.mean({2, 3}, false, at::kFloat) : now;
  }

 private:
  ConvChainArguments arguments_;
  ConvBlockFn* conv_block_;
  std::vector<std::optional<std::size_t>> last_added_{};  ///< by which layer, of each one's input
};

}  // namespace

void check_maps(const std::vector<ConvChainLayer>& layers, const at::Tensor& maps) {
  const ConvChainLayer& first = layers.front();
  require(maps.dim() == 4 && maps.size(1) == first.weight.size(1) * first.groups,
          "conv-chain: maps (N, C, H, W) with as many channels as the first layer takes");
  struct Size {
    std::int64_t channels, height, width;
    bool operator==(const Size&) const = default;
  };
  std::vector<Size> inputs{{maps.size(1), maps.size(2), maps.size(3)}};
  for (const ConvChainLayer& layer : layers) {
    const std::int64_t kernel = layer.weight.size(2);
    const auto out = [&](std::int64_t side) {
      require(side + 2 * layer.padding >= kernel, "conv-chain: maps too small");
      return (side + 2 * layer.padding - kernel) / layer.stride + 1;
    };
    const Size in = inputs.back();
    inputs.push_back({layer.weight.size(0), out(in.height), out(in.width)});
    require(!layer.adds_input_of || inputs[*layer.adds_input_of] == inputs.back(),
            "conv-chain: a sum of maps of two sizes");
  }
}

std::unique_ptr<ConvChain> composed_chain(const ConvChainArguments& arguments,
                                          ConvBlockFn* conv_block) {
  return std::make_unique<ComposedChain>(arguments, conv_block);
}

Operator<ConvChainFn>& conv_chain_operator() {
  static Operator<ConvChainFn> instance{
      "conv-chain", "A network's convolutions one after another, with bias, sum and ReLU."};
  return instance;
}

const Register<ConvChainFn> registered_conv_chain{
    conv_chain_operator(),
    {"reference", "One ATen operator after another, as eager PyTorch runs it.",
     [](const ConvChainArguments& arguments) {
       return composed_chain(arguments, conv_block_operator().get("reference"));
     }}};
const Register<ConvChainFn> registered_conv_chain_blocks{
    conv_chain_operator(),
    {"blocks", "One conv-block=custom after another.", [](const ConvChainArguments& arguments) {
       return composed_chain(arguments, conv_block_operator().get("custom"));
     }}};

}  // namespace harness::kernels
