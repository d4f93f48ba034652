#include "workloads/detect/detection_task.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/quality.hpp"
#include "harness/base/text.hpp"
#include "kernels/runtime/allocator.hpp"
#include "workloads/detect/answers.hpp"
#include "workloads/retinanet/cost.hpp"
#include "workloads/retinanet/detection_batches.hpp"
#include "workloads/retinanet/detection_evaluation.hpp"
#include "workloads/retinanet/golden.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/preparation.hpp"
#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {

WorkloadInfo detection_info(const std::string& name, const std::string& summary) {
  return {.name = name,
          .summary = summary,
          .offers = {{"precision", {"fp32", "bf16", "int8"}},
                     {"allocator", kernels::allocator_names()},
                     {"audit", {"none", "TEST01", "TEST04"}}},
          .settings = {{"weights",
                        "",
                        "of the whole model, saved by PyTorch or as safetensors; default: its own",
                        {}}},
          .operators = operator_infos({"conv-block"}),
          .data_folder = "pictures in COCO format"};
}

Description DetectionTask::describe(const WorkloadContext& context) const {
  const std::string& given = context.settings.at("weights");
  if (!given.empty() && context.quality_metric != kDetectionMetric) {
    // The speed would be that of one model, and the quality of another.
    throw Error(
        "--set weights=" + given,
        "the quality of this tier is that of the weights in the golden data",
        "take a tier that is judged by " + std::string(kDetectionMetric) + ", or leave it out");
  }
  const double picture = 4.0 * 3 * static_cast<double>(spec_.side * spec_.side);
  // Of a folder that was not opened yet a batch at least.
  const std::int64_t known = data_                      ? samples()
                             : context.data_dir.empty() ? scene_set(spec_.scenes).eval_count
                                                        : context.batch_size;
  const std::int64_t kept = std::min(known, context.samples_in_memory);
  return {static_cast<double>(kept) * picture +
          retinanet_answer_bytes(context.batch_size, spec_.side, spec_.side, spec_.classes,
                                 spec_.architecture)};
}

DataReport DetectionTask::open_data(const WorkloadContext& context) {
  const Preparation preparation = preparation_of(context);
  data_ = context.data_dir.empty()
              ? open_fashion_scenes(scene_set(spec_.scenes), spec_.classes, preparation)
              : open_data_folder(context.data_dir, spec_.classes, preparation);
  if (data_->eval.images.empty()) {
    throw Error(printable(data_->layout.root.string()), "has no evaluation images");
  }
  ground_truth_ = coco_ground_truth(data_->eval);
  DataReport report{data_->artifact, data_->layout.root};
  report.eval_samples = samples();
  return report;
}

void DetectionTask::build_model() {
  model_.emplace(RetinaNetConfig{.num_classes = spec_.classes,
                                 .height = spec_.side,
                                 .width = spec_.side,
                                 .bf16 = bf16(),
                                 .kernels = context().kernels,
                                 .architecture = spec_.architecture});
  const std::string& given = context().settings.at("weights");
  weights_ = given.empty() ? spec_.own_weights(*model_, context())
                           : load_weights(given, model_->parameters().by_name()).artifact;
}

WorkloadFacts DetectionTask::facts_of_model() const {
  const Cost training = retinanet_cost(context().batch_size, spec_.side, spec_.side, spec_.classes,
                                       bf16(), spec_.architecture);
  const std::string side = std::to_string(spec_.side);
  return {.cost = Cost{.forward_flops = training.forward_flops,
                       .step_flops = training.forward_flops,
                       .calls = training.calls,
                       .precision = context().precision},
          .hyperparameters = {{"model", spec_.model},
                              {"image_size", side + "x" + side},
                              {"num_classes", std::to_string(spec_.classes)}},
          .weights = {weights_}};
}

Batch DetectionTask::picture(const AnnotationSet& set, std::int64_t sample) const {
  return load_picture(set, static_cast<std::size_t>(sample), false, {spec_.side, spec_.side});
}

std::int64_t DetectionTask::samples() const {
  return static_cast<std::int64_t>(data_->eval.images.size());
}

void DetectionTask::load(const Samples& samples) {
  loaded_.clear();
  for (const std::int64_t sample : samples) {
    context().interrupted();
    loaded_[sample] = picture(data_->eval, sample);
  }
}

at::Tensor DetectionTask::answer(const Samples& samples) {
  std::vector<Batch> pictures;
  for (const std::int64_t sample : samples) pictures.push_back(loaded_.at(sample));
  return as_rows(model_->detect_batch(join_batches(std::move(pictures))));
}

std::int64_t DetectionTask::training_samples() const {
  return static_cast<std::int64_t>(data_->train.images.size());
}

void DetectionTask::run_training_sample(std::int64_t sample) {
  model_->forward(picture(data_->train, sample).images);
}

bool DetectionTask::judges_answers() const { return context().quality_metric == kDetectionMetric; }

Quality DetectionTask::score(const at::Tensor& answers) const {
  if (!judges_answers()) {
    return share_of_tolerance(context().quality_metric,
                              verify_golden_answers(read_golden_file(context().home / spec_.golden),
                                                    context().kernels, context().precision));
  }
  std::vector<CocoDetection> detections;
  for (std::int64_t i = 0; i < samples(); ++i) {
    const std::vector<CocoDetection> found =
        coco_detections(from_row(answers[i]), data_->eval.images[static_cast<std::size_t>(i)].id);
    detections.insert(detections.end(), found.begin(), found.end());
  }
  return detection_quality(evaluate_coco_boxes(ground_truth_, detections));
}

}  // namespace harness::workloads
