#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kStemChannels = 64;
constexpr std::int64_t kGroups = 32;
constexpr std::int64_t kExpansion = 4;

// Channels of a bottleneck's grouped convolution: 4 a group for layer1, doubling with each layer.
std::int64_t bottleneck_width(int layer) { return kGroups * 4 << (layer - 1); }
std::int64_t layer_channels(int layer) { return (kStemChannels << (layer - 1)) * kExpansion; }

void add_block(std::vector<ConvLayer>& layers, int layer, std::int64_t block) {
  const std::string name = block_name(layer, block);
  const std::int64_t width = bottleneck_width(layer);
  const std::int64_t out = layer_channels(layer);
  const std::int64_t in = block > 0 ? out : layer == 1 ? kStemChannels : layer_channels(layer - 1);
  const std::int64_t stride = block == 0 && layer > 1 ? 2 : 1;
  const bool trainable = layer > 1;
  layers.push_back({name + ".conv1", name + ".bn1", in, width, 1, 1, 0, 1, false, trainable});
  layers.push_back(
      {name + ".conv2", name + ".bn2", width, width, 3, stride, 1, kGroups, false, trainable});
  layers.push_back({name + ".conv3", name + ".bn3", width, out, 1, 1, 0, 1, false, trainable});
  if (block == 0) {
    layers.push_back({name + ".downsample.0", name + ".downsample.1", in, out, 1, stride, 0, 1,
                      false, trainable});
  }
}

void add_head(std::vector<ConvLayer>& layers, const std::string& tower, const std::string& output,
              std::int64_t outputs) {
  for (std::int64_t i = 0; i < kHeadDepth; ++i) {
    // The reference's towers are convolution, ReLU, convolution, ...: every other index is a layer.
    layers.push_back({tower + ".conv." + std::to_string(2 * i), "", kPyramidChannels,
                      kPyramidChannels, 3, 1, 1, 1, true, true});
  }
  layers.push_back({tower + "." + output, "", kPyramidChannels, kAnchorsPerLocation * outputs, 3, 1,
                    1, 1, true, true});
}

std::int64_t halved(std::int64_t size) { return (size - 1) / 2 + 1; }

}  // namespace

std::string block_name(int layer, std::int64_t block) {
  return "backbone.body.layer" + std::to_string(layer) + "." + std::to_string(block);
}

std::vector<ConvLayer> retinanet_layers(std::int64_t num_classes) {
  std::vector<ConvLayer> layers;
  layers.push_back(
      {"backbone.body.conv1", "backbone.body.bn1", 3, kStemChannels, 7, 2, 3, 1, false, false});
  for (int layer = 1; layer <= 4; ++layer) {
    for (std::int64_t block = 0; block < kBlocks[layer - 1]; ++block)
      add_block(layers, layer, block);
  }
  const std::string fpn = "backbone.fpn.";
  for (int i = 0; i < 3; ++i) {
    layers.push_back({fpn + "inner_blocks." + std::to_string(i), "", layer_channels(i + 2),
                      kPyramidChannels, 1, 1, 0, 1, true, true});
  }
  for (int i = 0; i < 3; ++i) {
    layers.push_back({fpn + "layer_blocks." + std::to_string(i), "", kPyramidChannels,
                      kPyramidChannels, 3, 1, 1, 1, true, true});
  }
  for (const char* extra : {"extra_blocks.p6", "extra_blocks.p7"}) {
    layers.push_back({fpn + extra, "", kPyramidChannels, kPyramidChannels, 3, 2, 1, 1, true, true});
  }
  add_head(layers, "head.classification_head", "cls_logits", num_classes);
  add_head(layers, "head.regression_head", "bbox_reg", 4);
  return layers;
}

double ConvolutionCall::flops() const {
  return 2.0 * static_cast<double>(batch * out_height * out_width) *
         static_cast<double>(layer.weight_count());
}

double ConvolutionCall::input_elements() const {
  return static_cast<double>(batch * layer.in_channels * in_height) * static_cast<double>(in_width);
}

double ConvolutionCall::output_elements() const {
  return static_cast<double>(batch * layer.out_channels * out_height) *
         static_cast<double>(out_width);
}

std::vector<ConvolutionCall> retinanet_calls(std::int64_t batch, std::int64_t height,
                                             std::int64_t width, std::int64_t num_classes) {
  std::vector<ConvolutionCall> calls;
  // Whether a gradient reaches the input: everything up to layer2's first convolution is constant.
  const auto call = [&](const ConvLayer& layer, MapSize in, bool input_trained) {
    const MapSize out{layer.output_size(in.height), layer.output_size(in.width)};
    calls.push_back(
        {layer, batch, in.height, in.width, out.height, out.width, input_trained, layer.trainable});
    return out;
  };

  const std::vector<ConvLayer> layers = retinanet_layers(num_classes);
  size_t next = 0;
  MapSize map = call(layers[next++], {height, width}, false);
  map = {halved(map.height), halved(map.width)};  // max pooling, 3x3, stride 2, padding 1
  std::vector<MapSize> body;
  for (int layer = 1; layer <= 4; ++layer) {
    for (std::int64_t block = 0; block < kBlocks[layer - 1]; ++block) {
      const bool trained_input = layer > 2 || (layer == 2 && block > 0);
      const bool trained = layer > 1;
      MapSize out = call(layers[next++], map, trained_input);
      out = call(layers[next++], out, trained);
      out = call(layers[next++], out, trained);
      if (block == 0) call(layers[next++], map, trained_input);
      map = out;
    }
    body.push_back(map);
  }
  std::vector<MapSize> levels;
  for (int i = 0; i < 3; ++i) levels.push_back(call(layers[next++], body[i + 1], true));
  for (int i = 0; i < 3; ++i) call(layers[next++], levels[i], true);
  levels.push_back(call(layers[next++], levels.back(), true));
  levels.push_back(call(layers[next++], levels.back(), true));
  for (; next < layers.size(); ++next) {
    for (const MapSize& level : levels) call(layers[next], level, true);
  }
  return calls;
}

std::vector<MapSize> pyramid_sizes(std::int64_t height, std::int64_t width) {
  MapSize map{halved(halved(halved(height))), halved(halved(halved(width)))};
  std::vector<MapSize> sizes;
  for (std::int64_t i = 0; i < kPyramidLevels; ++i) {
    sizes.push_back(map);
    map = {halved(map.height), halved(map.width)};
  }
  return sizes;
}

std::int64_t anchor_count(std::int64_t height, std::int64_t width) {
  std::int64_t count = 0;
  for (const MapSize& map : pyramid_sizes(height, width)) {
    count += map.height * map.width * kAnchorsPerLocation;
  }
  return count;
}

}  // namespace harness::workloads
