#include "workloads/retinanet/model.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "kernels/head_layout.hpp"
#include "kernels/runtime/profiler.hpp"
#include "workloads/retinanet/anchors.hpp"
#include "workloads/retinanet/body.hpp"

namespace harness::workloads {
namespace {

const kernels::Selection& checked(const kernels::Selection& selection) {
  kernels::check_selection(selection);
  return selection;
}

}  // namespace

RetinaNet::RetinaNet(const RetinaNetConfig& config)
    : config_(config),
      conv_block_(kernels::conv_block_operator().select(checked(config.kernels))),
      focal_loss_(kernels::focal_loss_operator().select(config.kernels)),
      box_loss_(kernels::box_loss_operator().select(config.kernels)),
      matcher_(kernels::matcher_operator().select(config.kernels)),
      parameters_(config.num_classes, config.architecture),
      places_(layer_places(config.architecture)),
      level_anchors_(level_anchors(config.height, config.width, config.architecture)),
      anchors_(at::cat(level_anchors_)) {
  for (const ConvLayer& shape : retinanet_layers(config.num_classes, config.architecture)) {
    layers_.push_back(make_layer(shape));
  }
}

RetinaNet::Layer RetinaNet::make_layer(const ConvLayer& shape) const {
  Layer layer{.shape = shape, .weight = parameters_.get(shape.name + ".weight")};
  if (shape.bias) layer.bias = parameters_.get(shape.name + ".bias");
  if (!shape.norm.empty()) {
    layer.norm = {.weight = parameters_.get(shape.norm + ".weight"),
                  .bias = parameters_.get(shape.norm + ".bias"),
                  .running_mean = parameters_.get(shape.norm + ".running_mean"),
                  .running_var = parameters_.get(shape.norm + ".running_var")};
  }
  return layer;
}

at::Tensor RetinaNet::apply(const Layer& layer, const at::Tensor& input, bool relu,
                            const std::optional<at::Tensor>& residual, bool for_layers) const {
  const kernels::ModuleScope module(layer.shape.name);
  return conv_block_({.input = input,
                      .weight = layer.weight,
                      .bias = layer.bias,
                      .norm = layer.shape.norm.empty() ? nullptr : &layer.norm,
                      .stride = layer.shape.stride,
                      .padding = layer.shape.padding,
                      .groups = layer.shape.groups,
                      .relu = relu,
                      .residual = residual,
                      .narrow_output = for_layers});
}

std::vector<at::Tensor> RetinaNet::body(const at::Tensor& images) const {
  const kernels::ModuleScope module("backbone.body");
  return run_body(config_.architecture, images,
                  [this](size_t layer, const at::Tensor& input, bool relu,
                         const std::optional<at::Tensor>& residual) {
                    return apply(layers_[layer], input, relu, residual);
                  });
}

std::vector<at::Tensor> RetinaNet::pyramid(const std::vector<at::Tensor>& maps) const {
  const kernels::ModuleScope module("backbone.fpn");
  std::vector<at::Tensor> levels(maps.size());
  at::Tensor inner;
  for (size_t i = levels.size(); i-- > 0;) {
    const at::Tensor lateral = apply(layers_[places_.inner + i], maps[i], false, {}, false);
    inner = inner.defined() ? lateral + at::upsample_nearest2d(inner, lateral.sizes().slice(2))
                            : lateral;
    levels[i] = apply(layers_[places_.outer + i], inner, false);
  }
  for (size_t i = places_.extra; i < places_.class_head; ++i) {
    // P7 takes P6 through a ReLU, P6 takes P5 as it is.
    const at::Tensor input = i == places_.extra ? levels.back() : at::relu(levels.back());
    levels.push_back(apply(layers_[i], input, false));
  }
  return levels;
}

std::vector<at::Tensor> RetinaNet::head(size_t first_layer,
                                        const std::vector<at::Tensor>& levels) const {
  const auto depth = static_cast<size_t>(config_.architecture.head_depth);
  std::vector<at::Tensor> outputs;
  for (at::Tensor x : levels) {
    size_t layer = first_layer;
    for (; layer < first_layer + depth; ++layer) x = apply(layers_[layer], x, true);
    outputs.push_back(apply(layers_[layer], x, false, {}, false));
  }
  return outputs;
}

HeadOutputs RetinaNet::forward(const at::Tensor& images) const {
  const kernels::AutocastScope autocast(config_.bf16);
  const std::vector<at::Tensor> levels = pyramid(body(images));
  return {.logits = head(places_.class_head, levels), .codes = head(places_.box_head, levels)};
}

std::vector<at::Tensor> RetinaNet::match(const std::vector<Target>& targets) const {
  std::vector<at::Tensor> matched;
  const kernels::ModuleScope module("matcher");
  for (const Target& target : targets) {
    matched.push_back(matcher_({.boxes = target.boxes, .anchors = anchors_}));
  }
  return matched;
}

Losses RetinaNet::loss(const HeadOutputs& outputs, const std::vector<Target>& targets) const {
  return loss(outputs, targets, match(targets));
}

Losses RetinaNet::loss(const HeadOutputs& outputs, const std::vector<Target>& targets,
                       const std::vector<at::Tensor>& matched) const {
  const kernels::AutocastScope autocast(config_.bf16);
  std::vector<at::Tensor> boxes;
  std::vector<at::Tensor> labels;
  for (const Target& target : targets) {
    boxes.push_back(target.boxes);
    labels.push_back(target.labels);
  }
  Losses losses;
  {
    const kernels::ModuleScope module("loss.classification");
    losses.classification = focal_loss_({.levels = outputs.logits,
                                         .classes = config_.num_classes,
                                         .matched = matched,
                                         .labels = labels});
  }
  const kernels::ModuleScope module("loss.box");
  losses.box =
      box_loss_({.levels = outputs.codes, .matched = matched, .boxes = boxes, .anchors = anchors_});
  return losses;
}

std::vector<Detections> RetinaNet::detect(const std::vector<at::Tensor>& images) const {
  return detect_batch(transform(images, {}, config_.height, config_.width));
}

std::vector<Detections> RetinaNet::detect_batch(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  const MapSize size{config_.height, config_.width};
  const HeadOutputs outputs = forward(batch.images);
  std::vector<at::Tensor> logits;
  std::vector<at::Tensor> codes;
  for (size_t level = 0; level < outputs.logits.size(); ++level) {
    logits.push_back(kernels::flatten_level(outputs.logits[level], config_.num_classes));
    codes.push_back(kernels::flatten_level(outputs.codes[level], 4));
  }
  const auto count = static_cast<int64_t>(batch.original_sizes.size());
  std::vector<std::vector<std::vector<Candidate>>> candidates(batch.original_sizes.size());
  for (int64_t i = 0; i < count; ++i) {
    for (const at::Tensor& level : logits) {
      candidates[static_cast<size_t>(i)].push_back(level_candidates(level[i].to(at::kFloat)));
    }
  }
  std::vector<Detections> detections(batch.original_sizes.size());
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    const at::NoGradGuard no_grad_here;  // one a thread
    for (int64_t i = begin; i < end; ++i) {
      const auto place = static_cast<size_t>(i);
      std::vector<at::Tensor> image_codes;
      // In bf16 a box of 500 pixels would be known to 2 pixels only: decode in float32.
      for (const at::Tensor& level : codes) image_codes.push_back(level[i].to(at::kFloat));
      Detections& found = detections[place];
      found = select_detections(candidates[place], config_.num_classes, image_codes, level_anchors_,
                                size);
      found.boxes = resize_boxes(found.boxes, size, batch.original_sizes[place]);
    }
  });
  return detections;
}

}  // namespace harness::workloads
