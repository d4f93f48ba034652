// Detection: the small RetinaNet that retinanet-mini-train trains, with weights of one of its runs.
#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/profiler.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/detect/answers.hpp"
#include "workloads/inference/inference.hpp"
#include "workloads/retinanet/cost.hpp"
#include "workloads/retinanet/detection_batches.hpp"
#include "workloads/retinanet/detection_evaluation.hpp"
#include "workloads/retinanet/model.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kSide = 128;
constexpr int kClasses = 10;
// Of a run to the target of retinanet-mini-train; its result lies beside them.
constexpr const char* kWeights = "workloads/detect/mini_retinanet.safetensors";

class Detect : public Inference {
 public:
  Description describe(const WorkloadContext& context) const override {
    constexpr double kPicture = 4.0 * 3 * kSide * kSide;
    const std::int64_t kept =
        data_ ? std::min(samples(), context.samples_in_memory) : context.samples_in_memory;
    return {static_cast<double>(kept) * kPicture + retinanet_answer_bytes(context.batch_size, kSide,
                                                                          kSide, kClasses,
                                                                          mini_architecture())};
  }

  DataReport open_data(const WorkloadContext& context) override {
    Preparation preparation;
    preparation.threads = context.threads;
    preparation.progress = context.progress;
    preparation.interrupted = context.interrupted;
    data_ = context.data_dir.empty() ? open_fashion_scenes(scene_set("mini"), kClasses, preparation)
                                     : open_data_folder(context.data_dir, kClasses, preparation);
    if (data_->eval.images.empty()) {
      throw Error(printable(data_->layout.root.string()), "has no evaluation images");
    }
    ground_truth_ = coco_ground_truth(data_->eval);
    DataReport report{data_->artifact, data_->layout.root};
    report.eval_samples = samples();
    return report;
  }

 private:
  void build() override {
    model_.emplace(RetinaNetConfig{.num_classes = kClasses,
                                   .height = kSide,
                                   .width = kSide,
                                   .bf16 = bf16(),
                                   .kernels = context().kernels,
                                   .architecture = mini_architecture()});
    const std::string& given = context().settings.at("weights");
    const std::filesystem::path weights =
        given.empty() ? context().home / kWeights : std::filesystem::path(given);
    weights_ = load_weights(weights, model_->parameters().by_name()).artifact;
  }

  WorkloadFacts facts_of_model() const override {
    const Cost training =
        retinanet_cost(context().batch_size, kSide, kSide, kClasses, bf16(), mini_architecture());
    const std::string side = std::to_string(kSide);
    return {.cost = Cost{.forward_flops = training.forward_flops,
                         .step_flops = training.forward_flops,
                         .calls = training.calls,
                         .precision = training.precision},
            .hyperparameters = {{"model", "RetinaNet, small"},
                                {"image_size", side + "x" + side},
                                {"num_classes", std::to_string(kClasses)}},
            .weights = {weights_}};
  }

  std::int64_t samples() const override {
    return static_cast<std::int64_t>(data_->eval.images.size());
  }

  void load(const Samples& samples) override {
    loaded_.clear();
    for (const std::int64_t sample : samples) {
      context().interrupted();
      const auto index = static_cast<std::size_t>(sample);
      loaded_[sample] = transform({load_sample(data_->eval, index, false).image}, {}, kSide, kSide);
    }
  }

  at::Tensor answer(const Samples& samples) override {
    std::vector<Batch> pictures;
    for (const std::int64_t sample : samples) pictures.push_back(loaded_.at(sample));
    return as_rows(model_->detect_batch(join_batches(std::move(pictures))));
  }

  Quality score(const at::Tensor& answers) const override {
    std::vector<CocoDetection> detections;
    for (std::int64_t i = 0; i < samples(); ++i) {
      const std::vector<CocoDetection> found =
          coco_detections(from_row(answers[i]), data_->eval.images[static_cast<std::size_t>(i)].id);
      detections.insert(detections.end(), found.begin(), found.end());
    }
    return detection_quality(evaluate_coco_boxes(ground_truth_, detections));
  }

  std::optional<DataSource> data_{};
  std::vector<CocoGroundTruth> ground_truth_{};
  std::optional<RetinaNet> model_{};
  Artifact weights_{};
  std::map<std::int64_t, Batch> loaded_{};  ///< of one picture each
};

WorkloadInfo info() {
  return {
      .name = "detect",
      .summary = "Detection on pictures of 128x128 by a small RetinaNet, one query after another.",
      .offers = {{"precision", {"fp32", "bf16"}},
                 {"allocator", kernels::allocator_names()},
                 {"audit", {"none", "TEST01", "TEST04"}}},
      .settings = {{"weights",
                    "",
                    "of the whole model, saved by PyTorch or as safetensors; default: those "
                    "that come with the program",
                    {}}},
      .operators = operator_infos({"conv-block"}),
      .data_folder = "pictures in COCO format"};
}

const RegisterWorkload registered(info, [] { return std::make_unique<Detect>(); });

}  // namespace
}  // namespace harness::workloads
