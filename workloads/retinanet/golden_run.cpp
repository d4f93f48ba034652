#include "workloads/retinanet/golden_run.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "kernels/head_layout.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "workloads/retinanet/random.hpp"

namespace harness::workloads {
namespace {

constexpr double kLearningRate = 1e-4;

at::Tensor filled(const std::string& name, std::uint64_t seed, double center, double bound,
                  const std::vector<std::int64_t>& shape) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* data = tensor.data_ptr<float>();
  const std::uint64_t key = fnv1a64(name) ^ seed;
  at::parallel_for(0, tensor.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      data[i] = static_cast<float>(center +
                                   bound * symmetric_uniform(key, static_cast<std::uint64_t>(i)));
    }
  });
  return tensor;
}

std::vector<at::Tensor> make_images(const GoldenCase& golden) {
  std::vector<at::Tensor> images;
  for (const GoldenImage& image : golden.images) {
    images.push_back(filled(image.fill, golden.seed, 0.5, 0.5, {3, image.height, image.width}));
  }
  return images;
}

std::vector<Target> make_targets(const GoldenCase& golden) {
  std::vector<Target> targets;
  for (const GoldenImage& image : golden.images) {
    const auto count = static_cast<std::int64_t>(image.labels.size());
    Target target{at::empty({count, 4}, at::kFloat), at::empty({count}, at::kLong)};
    std::copy(image.boxes.begin(), image.boxes.end(), target.boxes.data_ptr<float>());
    std::copy(image.labels.begin(), image.labels.end(), target.labels.data_ptr<std::int64_t>());
    targets.push_back(std::move(target));
  }
  return targets;
}

std::vector<Detections> detect_with_shift(RetinaNet& model, const std::vector<at::Tensor>& images,
                                          double shift) {
  const at::NoGradGuard no_grad;
  at::Tensor bias = detection_bias(model.parameters());
  const at::Tensor unchanged = bias.clone();
  bias.add_(shift);
  std::vector<Detections> detections = model.detect(images);
  bias.copy_(unchanged);
  return detections;
}

}  // namespace

void fill_by_golden(const GoldenCase& golden, ParameterStore& parameters) {
  std::size_t known = 0;
  for (const GoldenTensor& tensor : golden.tensors) {
    const Parameter* parameter = parameters.find(tensor.name);
    if (parameter == nullptr) {
      throw Error("golden tensor " + printable(tensor.name), "the model has no such parameter");
    }
    if (parameter->tensor.sizes() != at::IntArrayRef(tensor.shape)) {
      throw Error("golden tensor " + printable(tensor.name), "has another shape in the model");
    }
    parameters.set(tensor.name,
                   filled(tensor.name, golden.seed, tensor.center, tensor.bound, tensor.shape));
    ++known;
  }
  if (known != parameters.all().size()) {
    throw Error("golden file", "gives " + std::to_string(known) + " tensors for the model's " +
                                   std::to_string(parameters.all().size()));
  }
}

at::Tensor detection_bias(const ParameterStore& parameters) {
  return parameters.get("head.classification_head.cls_logits.bias");
}

GoldenRun answer_golden(const GoldenCase& golden, RetinaNet& model) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> images = make_images(golden);
  const HeadOutputs outputs =
      model.forward(transform(images, {}, golden.height, golden.width).images);
  GoldenRun run;
  run.anchors = model.anchors();
  run.logits = kernels::flatten_levels(outputs.logits, golden.num_classes);
  run.codes = kernels::flatten_levels(outputs.codes, 4);
  run.detections = detect_with_shift(model, images, golden.detection_bias_shift);
  return run;
}

GoldenRun run_golden(const GoldenCase& golden, const KernelSet& kernels, bool bf16) {
  RetinaNet model({.num_classes = golden.num_classes,
                   .height = golden.height,
                   .width = golden.width,
                   .bf16 = bf16,
                   .kernels = kernels});
  kernels::AdamFn* adam = kernels::optimizer_operator().select(kernels);
  fill_by_golden(golden, model.parameters());
  const std::vector<at::Tensor> images = make_images(golden);
  const Batch batch = transform(images, make_targets(golden), golden.height, golden.width);

  GoldenRun run;
  run.anchors = model.anchors();
  kernels::AdamState optimizer = kernels::make_adam_state(model.parameters().trainable());
  {
    const HeadOutputs outputs = model.forward(batch.images);
    run.matched = model.match(batch.targets);
    const Losses losses = model.loss(outputs, batch.targets, run.matched);
    run.classification_loss = losses.classification.item<double>();
    run.box_loss = losses.box.item<double>();
    losses.total().backward();
    const at::NoGradGuard no_grad;
    run.logits = kernels::flatten_levels(outputs.logits, golden.num_classes);
    run.codes = kernels::flatten_levels(outputs.codes, 4);
  }
  for (const Parameter& parameter : model.parameters().all()) {
    if (parameter.trainable) run.gradients.emplace(parameter.name, parameter.tensor.grad());
  }
  run.detections = detect_with_shift(model, images, golden.detection_bias_shift);

  adam(optimizer, kLearningRate);
  const at::NoGradGuard no_grad;
  const Losses after = model.loss(model.forward(batch.images), batch.targets);
  run.classification_loss_after_adam = after.classification.item<double>();
  run.box_loss_after_adam = after.box.item<double>();
  return run;
}

}  // namespace harness::workloads
