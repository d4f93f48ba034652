// Segmentation of pictures: MobileNetV2's maps and a light decoder, trained by segment-train.
#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/runtime/allocator.hpp"
#include "workloads/classify/mobilenet_v2.hpp"
#include "workloads/data/fashion_mnist.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/inference/inference.hpp"
#include "workloads/segment/intersection.hpp"
#include "workloads/segment/masked_scenes.hpp"
#include "workloads/segment/segmenter.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/preparation.hpp"
#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

// Of a run to the target of segment-train; its result lies beside them.
constexpr const char* kDecoder = "workloads/segment/decoder.safetensors";
constexpr std::int64_t kSide = 128;

std::string extent() { return std::to_string(kSide) + "x" + std::to_string(kSide); }

class Segment : public Inference {
 public:
  Description describe(const WorkloadContext& context) const override {
    require_assets({kMobileNetV2File}, context.home);
    constexpr double kModel = 2 * 4 * 1e6;  // as read, and as packed
    constexpr double kPixels = kSide * kSide;
    constexpr double kPicture = 4.0 * 3 * kPixels;
    // Logits at the full extent, and what they are chosen from.
    constexpr double kAnswer = 2 * 4.0 * kMaskClasses * kPixels;
    const std::int64_t scenes = scene_set("mini").eval_count;
    const auto held = static_cast<double>(scenes) * kPixels * 4;
    const auto kept = static_cast<double>(std::min(scenes, context.samples_in_memory)) * kPicture;
    const auto answers = static_cast<double>(scenes) * kPixels * 4 * 2;
    return {kModel + held + kept + answers +
            static_cast<double>(context.batch_size + 32) * (kPicture * 8 + kAnswer)};
  }

  DataReport open_data(const WorkloadContext& context) override {
    const SceneSet& set = scene_set("mini");
    scenes_ = compose_masked(set, SceneSplit::kEval, preparation_of(context));
    if (context.precision == "int8") calibrated_by_ = read_fashion_mnist(fashion_mnist_folder());
    DataReport report;
    report.dataset = masks_artifact(set, scenes_.sha256, scenes_.count());
    report.eval_samples = samples();
    return report;
  }

 private:
  void build_model() override {
    const auto implementation = kernels::conv_chain_operator().select(context().kernels);
    backbone_.emplace(find_asset(kMobileNetV2File, context().home), implementation);
    ParameterStore parameters = decoder_parameters(kMaskClasses);
    const std::string& given = context().settings.at("weights");
    const std::filesystem::path file =
        given.empty() ? context().home / kDecoder : std::filesystem::path(given);
    weights_ = load_weights(file, parameters.by_name()).artifact;
    decoder_.emplace(parameters, implementation);
  }

  WorkloadFacts facts_of_model() const override {
    const double flops =
        static_cast<double>(context().batch_size) *
        (backbone_->flops(kSide, kSide) + decoder_flops(kSide, kSide, kMaskClasses));
    Cost cost{.forward_flops = flops, .step_flops = flops, .precision = context().precision};
    cost.calls["convolutions"] = backbone_->convolutions() + kDecoderConvolutions;
    return {.cost = cost,
            .hyperparameters = {{"model", "MobileNetV2 with a light decoder"},
                                {"image_size", extent()},
                                {"classes", std::to_string(kMaskClasses)}},
            .weights = {backbone_->weights(), weights_}};
  }

  std::int64_t samples() const override { return scenes_.count(); }

  void load(const Samples& samples) override {
    loaded_.clear();
    for (const std::int64_t sample : samples) {
      context().interrupted();
      loaded_[sample] = prepared_scenes(scenes_.pictures.narrow(0, sample, 1));
    }
  }

  at::Tensor answer(const Samples& samples) override {
    std::vector<at::Tensor> batch;
    for (const std::int64_t sample : samples) batch.push_back(loaded_.at(sample));
    const at::Tensor pictures = batch.size() == 1 ? batch.front() : at::cat(batch);
    return classes_of_pixels(logits(pictures)).to(at::kFloat).flatten(1);
  }

  std::int64_t training_samples() const override {
    return scene_set("mini").count(SceneSplit::kTrain);
  }

  void run_training_sample(std::int64_t sample) override {
    const at::Tensor picture =
        scene_picture(calibrated_by_.value(), scene_set("mini"), SceneSplit::kTrain, sample);
    (void)logits(prepared_scenes(picture));
  }

  at::Tensor logits(const at::Tensor& pictures) const {
    return decoder_->logits(backbone_->maps(pictures));
  }

  Quality score(const at::Tensor& answers) const override {
    PixelCounts counts(kMaskClasses);
    for (std::int64_t i = 0; i < samples(); ++i) counts.add(scenes_.masks[i].flatten(), answers[i]);
    return segmentation_quality(counts);
  }

  MaskedScenes scenes_{};
  std::optional<FashionMnist> calibrated_by_{};  ///< in int8; training scenes are made of it
  std::optional<SegmentBackbone> backbone_{};
  std::optional<Decoder> decoder_{};
  Artifact weights_{};
  std::map<std::int64_t, at::Tensor> loaded_{};  ///< (1, 3, H, W) each, channels_last
};

WorkloadInfo info() {
  return {.name = "segment",
          .summary =
              "The class of each pixel of a picture of " + extent() + ", one query after another.",
          .offers = {{"precision", {"fp32", "bf16", "int8"}},
                     {"allocator", kernels::allocator_names()},
                     {"audit", {"none", "TEST01", "TEST04"}}},
          .settings = {{"weights",
                        "",
                        "of the decoder, saved by PyTorch or as safetensors; default: its own",
                        {}}},
          .operators = operator_infos({"conv-chain"})};
}

const RegisterWorkload registered(info, [] { return std::make_unique<Segment>(); });

}  // namespace
}  // namespace harness::workloads
