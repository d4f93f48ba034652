#include "workloads/retinanet/golden_run.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "kernels/head_layout.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "workloads/distributed/gradient_sum.hpp"
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

/// Of the case's images those of this rank.
class Part {
 public:
  Part(std::int64_t images, TorchRanks* ranks) : end_(images) {
    if (ranks == nullptr) return;
    const std::int64_t rank = ranks->rank();
    const std::int64_t world = ranks->world();
    if (images < world) {
      throw Error("--ranks",
                  std::to_string(world) + " ranks share " + std::to_string(images) +
                      " images of the golden data",
                  "use fewer ranks");
    }
    begin_ = rank * images / world;
    end_ = (rank + 1) * images / world;
    weight_ = static_cast<double>((end_ - begin_) * world) / static_cast<double>(images);
  }

  template <class T>
  std::vector<T> of(const std::vector<T>& all) const {
    return {all.begin() + begin_, all.begin() + end_};
  }
  double weight() const { return weight_; }

 private:
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  double weight_ = 1;  ///< of a mean over these images in the mean over the ranks
};

/// The tensors of all ranks, one behind the other along the first dimension.
at::Tensor joined(TorchRanks& ranks, const at::Tensor& mine) {
  const at::Tensor whole = mine.contiguous();
  std::vector<std::int64_t> sizes = whole.sizes().vec();
  std::int64_t row = whole.element_size();
  for (std::size_t i = 1; i < sizes.size(); ++i) row *= sizes[i];
  const std::vector<std::string> all =
      ranks.gather({static_cast<const char*>(whole.const_data_ptr()), whole.nbytes()});
  std::vector<at::Tensor> parts;
  for (const std::string& theirs : all) {
    sizes[0] = static_cast<std::int64_t>(theirs.size()) / row;
    const at::Tensor part = at::empty(sizes, whole.options());
    if (!theirs.empty()) std::memcpy(part.mutable_data_ptr(), theirs.data(), theirs.size());
    parts.push_back(part);
  }
  return at::cat(parts);
}

/// The same for one tensor an image.
std::vector<at::Tensor> joined(TorchRanks& ranks, const std::vector<at::Tensor>& mine) {
  std::vector<double> lengths;
  for (const at::Tensor& one : mine) lengths.push_back(static_cast<double>(one.size(0)));
  std::vector<std::int64_t> counts;
  for (const auto& theirs : gather_numbers(ranks, lengths)) {
    for (const double count : theirs) counts.push_back(static_cast<std::int64_t>(count));
  }
  return joined(ranks, at::cat(mine)).split_with_sizes(counts);
}

/// What each rank has of its images becomes what all have of all.
void bring_together(GoldenRun& run, const Part& part, TorchRanks& ranks) {
  const std::vector<double> losses =
      mean_over(ranks, {run.classification_loss * part.weight(), run.box_loss * part.weight(),
                        run.classification_loss_after_adam * part.weight(),
                        run.box_loss_after_adam * part.weight()});
  run.classification_loss = losses[0];
  run.box_loss = losses[1];
  run.classification_loss_after_adam = losses[2];
  run.box_loss_after_adam = losses[3];
  run.logits = joined(ranks, run.logits);
  run.codes = joined(ranks, run.codes);
  run.matched = joined(ranks, run.matched);
  std::vector<at::Tensor> boxes;
  std::vector<at::Tensor> scores;
  std::vector<at::Tensor> labels;
  for (const Detections& one : run.detections) {
    boxes.push_back(one.boxes);
    scores.push_back(one.scores);
    labels.push_back(one.labels);
  }
  boxes = joined(ranks, boxes);
  scores = joined(ranks, scores);
  labels = joined(ranks, labels);
  run.detections.clear();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    run.detections.push_back({boxes[i], scores[i], labels[i]});
  }
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

GoldenRun run_golden(const GoldenCase& golden, const KernelSet& kernels, bool bf16,
                     TorchRanks* ranks) {
  RetinaNet model({.num_classes = golden.num_classes,
                   .height = golden.height,
                   .width = golden.width,
                   .bf16 = bf16,
                   .kernels = kernels});
  kernels::AdamFn* adam = kernels::optimizer_operator().select(kernels);
  fill_by_golden(golden, model.parameters());
  const Part part(static_cast<std::int64_t>(golden.images.size()), ranks);
  const std::vector<at::Tensor> images = part.of(make_images(golden));
  const Batch batch = transform(images, part.of(make_targets(golden)), golden.height, golden.width);

  GoldenRun run;
  run.anchors = model.anchors();
  kernels::AdamState optimizer = kernels::make_adam_state(model.parameters().trainable());
  std::optional<GradientSum> gradients;
  if (ranks != nullptr) {
    gradients.emplace(*ranks, model.parameters().trainable(), SumPrecision::kFloat, nullptr);
  }
  {
    const HeadOutputs outputs = model.forward(batch.images);
    run.matched = model.match(batch.targets);
    const Losses losses = model.loss(outputs, batch.targets, run.matched);
    run.classification_loss = losses.classification.item<double>();
    run.box_loss = losses.box.item<double>();
    // The mean over the ranks is then that over the images.
    (ranks == nullptr ? losses.total() : losses.total() * part.weight()).backward();
    if (gradients) gradients->finish();
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
  if (ranks != nullptr) bring_together(run, part, *ranks);
  return run;
}

}  // namespace harness::workloads
