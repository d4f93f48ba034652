// `conv-chain` as one parallel region over own kernels (chain.hpp), and in int8 as oneDNN's
// primitives on maps of its own (int8/chain.hpp). For layers that these cannot compute
// conv-block=custom one after another.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/conv_chain/chain.hpp"
#include "kernels/conv_chain/conv_chain.hpp"
#include "kernels/convolution/convolution.hpp"
#include "kernels/int8/chain.hpp"
#include "kernels/int8/ranges.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

/// None where a layer is none for it.
std::optional<Chain> own_chain(const ConvChainArguments& arguments, bool narrow) {
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
  if (!(narrow ? Chain::computes_narrow(layers) : Chain::computes(layers))) return std::nullopt;
  return std::optional<Chain>(std::in_place, layers, arguments.mean, narrow);
}

class CustomChain final : public ConvChain {
 public:
  explicit CustomChain(const ConvChainArguments& arguments)
      : layers_(arguments.layers),
        mean_(arguments.mean),
        trained_(std::any_of(arguments.layers.begin(), arguments.layers.end(),
                             [](const ConvChainLayer& layer) {
                               return layer.weight.requires_grad() ||
                                      (layer.bias && layer.bias->requires_grad());
                             })),
        composed_(composed_chain(arguments, conv_block_operator().get("custom"))),
        wide_(own_chain(arguments, false)),
        narrow_(own_chain(arguments, true)) {}

  at::Tensor forward(const at::Tensor& maps) override {
    const bool trained = at::GradMode::is_enabled() && (trained_ || maps.requires_grad());
    const auto& chain = at::autocast::is_autocast_enabled(at::kCPU) ? narrow_ : wide_;
    const bool calibrated = calibrated_now() != nullptr;
    if (trained || calibrated || maps.scalar_type() != at::kFloat) return composed_->forward(maps);
    if (const Int8Ranges* ranges = int8_now()) return in_int8(maps, *ranges);
    if (!chain) return composed_->forward(maps);
    check_maps(layers_, maps);
    const Chain::Pictures pictures{maps.size(0), maps.size(2), maps.size(3)};
    const MapSize result = chain->result(pictures.height, pictures.width);
    const at::Tensor input = channels_last(maps);
    at::Tensor output =
        mean_ ? at::empty({pictures.count, result.channels}, at::kFloat)
              : at::empty(
                    {pictures.count, result.channels, result.height, result.width},
                    at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
    const bool recorded = Profiler::records_here();
    const Chain::Plan plan = chain->plan(pictures, recorded);
    at::Tensor scratch = at::empty({static_cast<int64_t>(plan.scratch_floats)}, at::kFloat);
    const Buffers buffers{input.const_data_ptr<float>(), output.mutable_data_ptr<float>(),
                          scratch.mutable_data_ptr<float>()};
    const KernelScope scope("conv-chain");
    if (recorded) {
      run_in_parts(*chain, plan, buffers);
    } else {
      chain->run(plan, buffers.input, buffers.output, buffers.scratch);
    }
    return output;
  }

 private:
  struct Buffers {
    const float* input = nullptr;
    float* output = nullptr;
    float* scratch = nullptr;
  };

  /// The bits are those of one block after another, which a profile sees as such.
  at::Tensor in_int8(const at::Tensor& maps, const Int8Ranges& ranges) {
    const std::unique_lock<std::mutex> lock(narrower_mutex_, std::try_to_lock);
    const bool prepared = lock && Int8Chain::computes(layers_) && !Profiler::records_here();
    if (!prepared || maps.numel() == 0) return composed_->forward(maps);
    check_maps(layers_, maps);
    Int8Chain* const chain = int8_chain(maps.sizes(), ranges);
    if (chain == nullptr) return composed_->forward(maps);
    const KernelScope scope("conv-chain");
    const at::Tensor output = chain->run(maps);
    return mean_ ? output.mean({2, 3}, false, at::kFloat) : output;
  }

  /// Null beyond the first few sizes: who sends batches of any size is not to wait for a chain to
  /// be made for each.
  Int8Chain* int8_chain(at::IntArrayRef sizes, const Int8Ranges& ranges) {
    for (const auto& one : narrower_) {
      if (one->is_for(ranges, sizes)) return one.get();
    }
    std::erase_if(narrower_, [&](const auto& one) { return !one->is_for(ranges); });
    constexpr std::size_t kMost = 8;
    if (narrower_.size() == kMost) return nullptr;
    return narrower_.emplace_back(std::make_unique<Int8Chain>(layers_, ranges, sizes)).get();
  }

  /// A scope for each layer: in one region they would be one kernel.
  static void run_in_parts(const Chain& chain, const Chain::Plan& plan, const Buffers& buffers) {
    const std::vector<Chain::Part> parts = chain.parts(plan);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto run = [&] {
        chain.run_part(plan, i, buffers.input, buffers.output, buffers.scratch);
      };
      if (parts[i].layer == nullptr) {
        const KernelScope scope("conv-chain.maps");
        run();
      } else {
        const KernelScope scope("conv-chain.layer", [&] { return facts(plan.pictures, parts[i]); });
        run();
      }
    }
  }

  static KernelFacts facts(const Chain::Pictures& pictures, const Chain::Part& part) {
    const ChainLayer& layer = *part.layer;
    const ConvolutionShape shape{.batch = pictures.count,
                                 .in_channels = layer.in_channels,
                                 .in_height = part.in.height,
                                 .in_width = part.in.width,
                                 .out_channels = layer.out_channels,
                                 .kernel_height = layer.kernel,
                                 .kernel_width = layer.kernel,
                                 .stride = layer.stride,
                                 .padding = layer.padding,
                                 .groups = layer.groups,
                                 .type = part.narrow ? at::kBFloat16 : at::kFloat,
                                 .bias = layer.bias != nullptr,
                                 .residual = part.adds};
    const char* const name = layer.depthwise() ? depthwise_name()
                             : part.narrow     ? narrow_product_name()
                                               : product_name();
    return convolution_facts(shape, name, "forward_training");
  }

  std::vector<ConvChainLayer> layers_;
  bool mean_;
  bool trained_;  ///< some weight wants a gradient
  std::unique_ptr<ConvChain> composed_;
  std::optional<Chain> wide_, narrow_;
  std::mutex narrower_mutex_{};
  std::vector<std::unique_ptr<Int8Chain>> narrower_{};
};

}  // namespace

const Register<ConvChainFn> registered_conv_chain_custom{
    conv_chain_operator(),
    {"custom",
     "All layers in one parallel region, pictures staying with their thread; in int8 prepared "
     "once.",
     [](const ConvChainArguments& arguments) -> std::unique_ptr<ConvChain> {
       return std::make_unique<CustomChain>(arguments);
     }}};

}  // namespace harness::kernels
