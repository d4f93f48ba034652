#include "workloads/retinanet/architecture.hpp"

#include <stdexcept>

namespace harness::workloads {
namespace {

constexpr std::int64_t kLateralLevels = 3;  // P3 to P5, from layer2 to layer4

std::int64_t bottleneck_width(const Architecture& architecture, int layer) {
  return architecture.groups * architecture.group_width << (layer - 1);
}
std::int64_t layer_channels(const Architecture& architecture, int layer) {
  return (architecture.stem_channels << (layer - 1)) * architecture.expansion;
}

void add_block(std::vector<ConvLayer>& layers, const Architecture& architecture, int layer,
               std::int64_t block) {
  const std::string name = block_name(layer, block);
  const std::int64_t width = bottleneck_width(architecture, layer);
  const std::int64_t out = layer_channels(architecture, layer);
  const std::int64_t in = block > 0    ? out
                          : layer == 1 ? architecture.stem_channels
                                       : layer_channels(architecture, layer - 1);
  const std::int64_t stride = block == 0 && layer > 1 ? 2 : 1;
  const bool trainable = layer > 1 || architecture.trains_whole_body;
  layers.push_back({name + ".conv1", name + ".bn1", in, width, 1, 1, 0, 1, false, trainable});
  layers.push_back({name + ".conv2", name + ".bn2", width, width, 3, stride, 1, architecture.groups,
                    false, trainable});
  layers.push_back({name + ".conv3", name + ".bn3", width, out, 1, 1, 0, 1, false, trainable});
  if (block == 0) {
    layers.push_back({name + ".downsample.0", name + ".downsample.1", in, out, 1, stride, 0, 1,
                      false, trainable});
  }
}

void add_head(std::vector<ConvLayer>& layers, const Architecture& architecture,
              const std::string& tower, const std::string& output, std::int64_t outputs) {
  const std::int64_t channels = architecture.pyramid_channels;
  for (std::int64_t i = 0; i < architecture.head_depth; ++i) {
    // The reference's towers are convolution, ReLU, convolution, ...: every other index is a layer.
    layers.push_back(
        {tower + ".conv." + std::to_string(2 * i), "", channels, channels, 3, 1, 1, 1, true, true});
  }
  layers.push_back(
      {tower + "." + output, "", channels, kAnchorsPerLocation * outputs, 3, 1, 1, 1, true, true});
}

}  // namespace

Architecture mini_architecture() {
  return {.stem_channels = 16,
          .blocks = {1, 1, 1, 1},
          .groups = 8,
          .group_width = 4,
          .expansion = 4,
          .pyramid_channels = 64,
          .pyramid_levels = 3,
          .head_depth = 2,
          .smallest_anchor = 24,
          .trains_whole_body = true,
          .scaled_heads = true};
}

void check_architecture(const Architecture& architecture) {
  const auto check = [](const char* name, std::int64_t value, std::int64_t least,
                        std::int64_t most = 1 << 16) {
    if (value >= least && value <= most) return;
    std::string what = name;
    what.append(" is ").append(std::to_string(value)).append(", not from ");
    what.append(std::to_string(least)).append(" to ").append(std::to_string(most));
    throw std::invalid_argument(what);
  };
  check("stem_channels", architecture.stem_channels, 1);
  for (const std::int64_t blocks : architecture.blocks) check("blocks", blocks, 1);
  check("groups", architecture.groups, 1);
  check("group_width", architecture.group_width, 1);
  check("expansion", architecture.expansion, 1);
  check("pyramid_channels", architecture.pyramid_channels, 1);
  check("pyramid_levels", architecture.pyramid_levels, kLateralLevels, 5);
  check("head_depth", architecture.head_depth, 0);
  check("smallest_anchor", architecture.smallest_anchor, 1);
}

std::int64_t smallest_extent(const Architecture& architecture) {
  return std::int64_t{4} << architecture.pyramid_levels;
}

std::string block_name(int layer, std::int64_t block) {
  return "backbone.body.layer" + std::to_string(layer) + "." + std::to_string(block);
}

std::vector<ConvLayer> retinanet_layers(std::int64_t num_classes,
                                        const Architecture& architecture) {
  check_architecture(architecture);
  std::vector<ConvLayer> layers;
  layers.push_back({"backbone.body.conv1", "backbone.body.bn1", 3, architecture.stem_channels, 7, 2,
                    3, 1, false, architecture.trains_whole_body});
  for (int layer = 1; layer <= 4; ++layer) {
    for (std::int64_t block = 0; block < architecture.blocks[layer - 1]; ++block)
      add_block(layers, architecture, layer, block);
  }
  const std::string fpn = "backbone.fpn.";
  const std::int64_t channels = architecture.pyramid_channels;
  for (int i = 0; i < kLateralLevels; ++i) {
    layers.push_back({fpn + "inner_blocks." + std::to_string(i), "",
                      layer_channels(architecture, i + 2), channels, 1, 1, 0, 1, true, true});
  }
  for (int i = 0; i < kLateralLevels; ++i) {
    layers.push_back({fpn + "layer_blocks." + std::to_string(i), "", channels, channels, 3, 1, 1, 1,
                      true, true});
  }
  for (std::int64_t i = kLateralLevels; i < architecture.pyramid_levels; ++i) {
    layers.push_back({fpn + "extra_blocks.p" + std::to_string(i + 3), "", channels, channels, 3, 2,
                      1, 1, true, true});
  }
  add_head(layers, architecture, "head.classification_head", "cls_logits", num_classes);
  add_head(layers, architecture, "head.regression_head", "bbox_reg", 4);
  return layers;
}

LayerPlaces layer_places(const Architecture& architecture) {
  // The stem, three convolutions a block, and one beside the first block of each layer.
  std::int64_t body = 1;
  for (const std::int64_t blocks : architecture.blocks) body += 3 * blocks + 1;
  LayerPlaces places;
  places.inner = static_cast<std::size_t>(body);
  places.outer = places.inner + kLateralLevels;
  places.extra = places.outer + kLateralLevels;
  places.class_head =
      places.extra + static_cast<std::size_t>(architecture.pyramid_levels - kLateralLevels);
  places.box_head = places.class_head + static_cast<std::size_t>(architecture.head_depth) + 1;
  return places;
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
                                             std::int64_t width, std::int64_t num_classes,
                                             const Architecture& architecture) {
  // A map, and whether a gradient flows into it: up to the first trainable layer all is constant.
  struct Map {
    MapSize size{};
    bool trained = false;
  };
  std::vector<ConvolutionCall> calls;
  const auto call = [&](const ConvLayer& layer, const Map& in) {
    const MapSize out{layer.output_size(in.size.height), layer.output_size(in.size.width)};
    calls.push_back({layer, batch, in.size.height, in.size.width, out.height, out.width, in.trained,
                     layer.trainable});
    return Map{out, in.trained || layer.trainable};
  };

  const std::vector<ConvLayer> layers = retinanet_layers(num_classes, architecture);
  std::size_t next = 0;
  Map map = call(layers[next++], {{height, width}, false});
  map.size = {kernels::halved(map.size.height),
              kernels::halved(map.size.width)};  // max pooling, 3x3, 2, padding 1
  std::vector<Map> body;
  for (const std::int64_t blocks : architecture.blocks) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      Map out = call(layers[next++], map);
      out = call(layers[next++], out);
      out = call(layers[next++], out);
      if (block == 0) call(layers[next++], map);
      map = out;
    }
    body.push_back(map);
  }
  std::vector<Map> levels;
  for (std::size_t i = 1; i < body.size(); ++i) levels.push_back(call(layers[next++], body[i]));
  for (std::size_t i = 1; i < body.size(); ++i) call(layers[next++], levels[i - 1]);
  while (levels.size() < static_cast<std::size_t>(architecture.pyramid_levels)) {
    levels.push_back(call(layers[next++], levels.back()));
  }
  for (; next < layers.size(); ++next) {
    for (const Map& level : levels) call(layers[next], level);
  }
  return calls;
}

std::vector<MapSize> pyramid_sizes(std::int64_t height, std::int64_t width,
                                   const Architecture& architecture) {
  return kernels::pyramid_sizes(height, width, architecture.pyramid_levels);
}

std::int64_t anchor_count(std::int64_t height, std::int64_t width,
                          const Architecture& architecture) {
  return kernels::anchor_count(height, width, architecture.pyramid_levels);
}

}  // namespace harness::workloads
