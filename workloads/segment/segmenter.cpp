#include "workloads/segment/segmenter.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <utility>

#include "workloads/classify/mobilenet_v2.hpp"
#include "workloads/retinanet/random.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kWidth = 64;  // channels of the decoder
constexpr std::array kLaterals = {"lateral4", "lateral8", "lateral16"};
constexpr const char* kSmooth = "smooth";
constexpr const char* kClassifier = "classifier";

at::Tensor weight_of(const ParameterStore& decoder, const std::string& name) {
  return decoder.get(name + ".weight");
}
at::Tensor bias_of(const ParameterStore& decoder, const std::string& name) {
  return decoder.get(name + ".bias");
}

at::Tensor convolved(const ParameterStore& decoder, const std::string& name,
                     const at::Tensor& maps) {
  const at::Tensor weight = weight_of(decoder, name).to(maps.scalar_type());
  return at::conv2d(maps, weight, bias_of(decoder, name).to(maps.scalar_type()), 1,
                    weight.size(2) / 2);
}

at::Tensor twice_the_extent(const at::Tensor& maps) {
  return at::upsample_bilinear2d(maps, {2 * maps.size(2), 2 * maps.size(3)},
                                 /*align_corners=*/false);
}

kernels::ConvChainLayer layer_of(const ParameterStore& decoder, const std::string& name,
                                 bool relu) {
  const at::Tensor weight = weight_of(decoder, name).detach();
  return {.weight = weight.contiguous(at::MemoryFormat::ChannelsLast),
          .bias = bias_of(decoder, name).detach(),
          .padding = weight.size(2) / 2,
          .relu = relu};
}

}  // namespace

SegmentBackbone::SegmentBackbone(const std::filesystem::path& weights,
                                 kernels::ConvChainFn* make_chain) {
  MobileNetV2Layers network = read_mobilenet_v2(weights);
  artifact_ = network.artifact;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < chains_.size(); ++i) {
    const std::size_t end = kLayersToExtent[i];
    kernels::ConvChainArguments part;
    for (std::size_t at = begin; at < end; ++at) {
      kernels::ConvChainLayer layer = network.layers[at];
      // Sums stay within a block, and no block is cut.
      if (layer.adds_input_of) *layer.adds_input_of -= begin;
      layers_.push_back(network.layers[at]);
      part.layers.push_back(std::move(layer));
    }
    chains_[i] = make_chain(part);
    begin = end;
  }
}

BackboneMaps SegmentBackbone::maps(const at::Tensor& pictures) const {
  BackboneMaps maps;
  at::Tensor last = pictures;
  for (std::size_t i = 0; i < chains_.size(); ++i) maps[i] = last = chains_[i]->forward(last);
  return maps;
}

double SegmentBackbone::flops(std::int64_t height, std::int64_t width) const {
  return flops_of_layers(layers_, height, width);
}

ParameterStore decoder_parameters(std::int64_t classes) {
  ParameterStore decoder;
  const auto add = [&](const std::string& name, std::int64_t out, std::int64_t in,
                       std::int64_t kernel) {
    decoder.add(name + ".weight", {out, in, kernel, kernel}, false, true);
    decoder.add(name + ".bias", {out}, false, true);
  };
  for (std::size_t i = 0; i < kLaterals.size(); ++i) {
    add(kLaterals[i], kWidth, SegmentBackbone::kChannels[i], 3);
  }
  add(kSmooth, kWidth, kWidth, 3);
  add(kClassifier, classes, kWidth, 1);
  return decoder;
}

void set_initial_values(ParameterStore& decoder, std::uint32_t seed) {
  for (const Parameter& parameter : decoder.all()) {
    const at::Tensor& tensor = parameter.tensor;
    at::Tensor values = at::zeros(tensor.sizes());
    if (tensor.dim() == 4) {
      const std::uint64_t key = splitmix64(fnv1a64(parameter.name), seed);
      const auto fan_in = static_cast<double>(tensor.numel() / tensor.size(0));
      auto* const to = values.mutable_data_ptr<float>();
      for (std::int64_t i = 0; i < values.numel(); ++i) {
        to[i] = static_cast<float>(std::sqrt(2 / fan_in) *
                                   standard_normal(key, static_cast<std::uint64_t>(i)));
      }
    }
    decoder.set(parameter.name, values);
  }
}

at::Tensor decoder_logits(const ParameterStore& decoder, const BackboneMaps& maps) {
  at::Tensor sum = convolved(decoder, kLaterals[2], maps[2]).relu();
  for (std::size_t i = 2; i-- > 0;) {
    sum = (convolved(decoder, kLaterals[i], maps[i]) + twice_the_extent(sum)).relu();
  }
  return convolved(decoder, kClassifier, convolved(decoder, kSmooth, sum).relu());
}

Decoder::Decoder(const ParameterStore& decoder, kernels::ConvChainFn* make_chain) {
  for (std::size_t i = 0; i < laterals_.size(); ++i) {
    // The coarsest has nothing added before its ReLU.
    laterals_[i] = make_chain({.layers = {layer_of(decoder, kLaterals[i], i == 2)}});
  }
  head_ = make_chain(
      {.layers = {layer_of(decoder, kSmooth, true), layer_of(decoder, kClassifier, false)}});
}

at::Tensor Decoder::logits(const BackboneMaps& maps) const {
  at::Tensor sum = laterals_[2]->forward(maps[2]);
  for (std::size_t i = 2; i-- > 0;) {
    sum = laterals_[i]->forward(maps[i]).add_(twice_the_extent(sum)).relu_();
  }
  return head_->forward(sum);
}

double lateral_flops(std::int64_t height, std::int64_t width) {
  double per_position = 0;
  for (std::size_t i = 0; i < kLaterals.size(); ++i) {
    // A quarter as many positions for each coarser map.
    per_position += static_cast<double>(SegmentBackbone::kChannels[i] * kWidth * 9) /
                    static_cast<double>(std::int64_t{1} << (2 * i));
  }
  return 2 * static_cast<double>(height / 4 * (width / 4)) * per_position;
}

double decoder_flops(std::int64_t height, std::int64_t width, std::int64_t classes) {
  const auto per_position = static_cast<double>(kWidth * kWidth * 9 + kWidth * classes);
  return lateral_flops(height, width) +
         2 * static_cast<double>(height / 4 * (width / 4)) * per_position;
}

at::Tensor full_extent(const at::Tensor& logits) {
  return at::upsample_bilinear2d(logits, {4 * logits.size(2), 4 * logits.size(3)},
                                 /*align_corners=*/false);
}

at::Tensor classes_of_pixels(const at::Tensor& logits) { return full_extent(logits).argmax(1); }

}  // namespace harness::workloads
