#include "workloads/classify/mobilenet_v2.hpp"

#include <ATen/ATen.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kCeiling = 6;  // of ReLU6
constexpr std::int64_t kStem = 32;

/// Table 2 of the paper: expansion, channels, how often, stride of the first.
struct Stage {
  std::int64_t expansion, channels, blocks, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

/// A convolution as it lies in the file: its name, that of the norm behind it, its shape.
struct Source {
  std::string convolution{}, norm{};
  std::int64_t out = 0, in = 0, kernel = 1;  ///< `in` of one group
  std::int64_t stride = 1, groups = 1;
  bool relu6 = false;
  std::optional<std::size_t> adds_input_of{};
};

std::vector<Source> sources() {
  std::vector<Source> all{{.convolution = "features.0.0",
                           .norm = "features.0.1",
                           .out = kStem,
                           .in = 3,
                           .kernel = 3,
                           .stride = 2,
                           .relu6 = true}};
  std::int64_t channels = kStem;
  int number = 1;
  for (const Stage& stage : kStages) {
    for (std::int64_t block = 0; block < stage.blocks; ++block, ++number) {
      const std::string prefix = "features." + std::to_string(number) + ".conv.";
      const std::int64_t stride = block == 0 ? stage.stride : 1;
      const std::int64_t wide = channels * stage.expansion;
      int part = 0;
      const std::size_t first = all.size();
      const auto with_relu = [&](std::int64_t in, std::int64_t kernel, std::int64_t by,
                                 std::int64_t groups) {
        const std::string name = prefix + std::to_string(part++);
        all.push_back({name + ".0", name + ".1", wide, in, kernel, by, groups, true, {}});
      };
      if (stage.expansion > 1) with_relu(channels, 1, 1, 1);
      with_relu(1, 3, stride, wide);
      all.push_back(
          {prefix + std::to_string(part), prefix + std::to_string(part + 1), stage.channels, wide,
           1, 1, 1, false,
           stride == 1 && channels == stage.channels ? std::optional(first) : std::nullopt});
      channels = stage.channels;
    }
  }
  const std::string last = "features." + std::to_string(number);
  all.push_back({.convolution = last + ".0",
                 .norm = last + ".1",
                 .out = MobileNetV2::kFeatures,
                 .in = channels,
                 .relu6 = true});
  return all;
}

/// What the norm of a convolution does, per channel, in double precision.
struct Norm {
  at::Tensor scale{}, shift{};
};

Norm norm_of(const std::map<std::string, at::Tensor>& tensors, const std::string& name) {
  const auto exact = [&](const char* part) { return tensors.at(name + part).to(at::kDouble); };
  const at::Tensor scale = exact(".weight") / at::sqrt(exact(".running_var") + kNormEpsilon);
  return {scale, exact(".bias") - exact(".running_mean") * scale};
}

}  // namespace

MobileNetV2Layers read_mobilenet_v2(const std::filesystem::path& weights) {
  MobileNetV2Layers network;
  const std::vector<Source> all = sources();
  std::map<std::string, at::Tensor> tensors;
  for (const Source& source : all) {
    tensors[source.convolution + ".weight"] =
        at::empty({source.out, source.in, source.kernel, source.kernel});
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) {
      tensors[source.norm + part] = at::empty({source.out});
    }
  }
  network.artifact = load_weights(weights, tensors).artifact;
  for (const Source& source : all) {
    const Norm norm = norm_of(tensors, source.norm);
    const at::Tensor folded =
        tensors.at(source.convolution + ".weight").to(at::kDouble) * norm.scale.view({-1, 1, 1, 1});
    network.layers.push_back(
        {.weight = folded.to(at::kFloat).contiguous(at::MemoryFormat::ChannelsLast),
         .bias = norm.shift.to(at::kFloat),
         .stride = source.stride,
         .padding = (source.kernel - 1) / 2,
         .groups = source.groups,
         .relu = source.relu6,
         .ceiling = kCeiling,
         .adds_input_of = source.adds_input_of});
  }
  return network;
}

MobileNetV2::MobileNetV2(const std::filesystem::path& weights, kernels::ConvChainFn* make_chain) {
  MobileNetV2Layers network = read_mobilenet_v2(weights);
  layers_ = std::move(network.layers);
  artifact_ = std::move(network.artifact);
  chain_ = make_chain({.layers = layers_, .mean = true});
}

at::Tensor MobileNetV2::features(const at::Tensor& pictures) const {
  return chain_->forward(pictures);
}

double flops_of_layers(const std::vector<kernels::ConvChainLayer>& layers, std::int64_t height,
                       std::int64_t width) {
  double sum = 0;
  for (const kernels::ConvChainLayer& layer : layers) {
    height = (height - 1) / layer.stride + 1;
    width = (width - 1) / layer.stride + 1;
    sum += 2 * static_cast<double>(height * width * layer.weight.numel());
  }
  return sum;
}

}  // namespace harness::workloads
