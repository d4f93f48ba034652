// Training of the light decoder that `segment` answers with, on maps of a MobileNetV2 that stays as
// it is, to a target mIoU.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/base/quality.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/autocast.hpp"
#include "workloads/classify/mobilenet_v2.hpp"
#include "workloads/data/sampler.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/retinanet/learning_rate.hpp"
#include "workloads/segment/intersection.hpp"
#include "workloads/segment/masked_scenes.hpp"
#include "workloads/segment/segmenter.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/preparation.hpp"
#include "workloads/torch/torch_workload.hpp"
#include "workloads/torch/training_state.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kAtOnce = 32;  // pictures whose maps are made together
constexpr double kWarmupEpochs = 1;
constexpr const char* kParity = "parity";

class SegmentTraining : public TorchWorkload, public Trains {
 public:
  Description describe(const WorkloadContext& context) const override {
    require_assets({kMobileNetV2File}, context.home);
    learning_rate_of(context);
    const SceneSet& set = scene_set("mini");
    const double pixels = static_cast<double>(set.width) * set.height;
    double maps = 0;  // of a picture
    double positions = pixels / 16;
    for (const std::int64_t channels : SegmentBackbone::kChannels) {
      maps += 4 * positions * static_cast<double>(channels);
      positions /= 4;
    }
    constexpr double kBytesOfPixel = 4;                     // three colours and a class
    constexpr double kModel = 4 * 4 * 1e6;                  // weights, gradients, moments
    const double logits = 4 * 4.0 * kMaskClasses * pixels;  // with what the gradient needs
    const auto batch = static_cast<double>(std::max(context.batch_size, kAtOnce));
    return {kModel + (set.train_count + set.eval_count) * pixels * kBytesOfPixel +
            set.train_count * maps + batch * (logits + 16 * maps)};
  }

  DataReport open_data(const WorkloadContext& context) override {
    const SceneSet& set = scene_set("mini");
    const Preparation preparation = preparation_of(context);
    train_ = compose_masked(set, SceneSplit::kTrain, preparation);
    eval_ = compose_masked(set, SceneSplit::kEval, preparation);
    if (train_.count() < context.batch_size) {
      throw Error("training data",
                  std::to_string(train_.count()) + " scenes do not make one batch of " +
                      std::to_string(context.batch_size),
                  "use a smaller --batch-size");
    }
    DataReport report;
    report.dataset = masks_artifact(set, eval_.sha256, eval_.count());
    report.dataset->details["train_images"] = std::to_string(train_.count());
    report.dataset->details["train_sha256"] = train_.sha256;
    report.train_samples = train_.count();
    report.eval_samples = eval_.count();
    return report;
  }

  /// The backbone stays as it is, and pictures come as they are: the maps of all of them are made
  /// once.
  void begin_steps() override {
    order_.emplace(static_cast<std::size_t>(train_.count()),
                   static_cast<std::size_t>(context().batch_size), context().seeds.data_order);
    for (std::int64_t first = 0; first < train_.count(); first += kAtOnce) {
      context().interrupted();
      context().progress("maps of the backbone", first, train_.count());
      const BackboneMaps maps = maps_of(train_, first);
      for (std::size_t i = 0; i < maps.size(); ++i) {
        if (first == 0) {
          std::vector<std::int64_t> all = maps[i].sizes().vec();
          all.front() = train_.count();
          maps_[i] = at::empty(all, maps[i].options(), at::MemoryFormat::ChannelsLast);
        }
        maps_[i].narrow(0, first, maps[i].size(0)).copy_(maps[i]);
      }
    }
  }

  std::int64_t steps_per_epoch() const override { return train_.count() / context().batch_size; }

  StepStats step() override {
    BackboneMaps maps;
    at::Tensor masks;
    {
      const Phase phase = context().phase("data");
      const at::Tensor batch = next_batch();
      for (std::size_t i = 0; i < maps.size(); ++i) maps[i] = maps_[i].index_select(0, batch);
      masks = train_.masks.index_select(0, batch).to(at::kLong);
    }
    at::Tensor logits;
    {
      const Phase phase = context().phase("forward");
      const kernels::AutocastScope autocast(bf16());
      logits = decoder_logits(parameters_, maps);
    }
    at::Tensor total;
    {
      const Phase phase = context().phase("loss");
      total = at::cross_entropy_loss(full_extent(logits.to(at::kFloat)), masks);
    }
    {
      const Phase phase = context().phase("backward");
      total.backward();
    }
    {
      const Phase phase = context().phase("optimizer");
      adam_step_(adam_, learning_rate().at(iteration_));
      kernels::clear_gradients(adam_);
    }
    ++iteration_;
    return {context().batch_size, {{"total", total.item<double>()}}};
  }

  Quality evaluate() override {
    const at::NoGradGuard no_gradients;
    if (context().quality_metric == kParity) return parity();
    const Decoder decoder(parameters_, kernels::conv_chain_operator().select(context().kernels));
    PixelCounts counts(kMaskClasses);
    for (std::int64_t first = 0; first < eval_.count(); first += kAtOnce) {
      context().interrupted();
      context().progress("evaluating", first, eval_.count());
      const BackboneMaps maps = maps_of(eval_, first);
      const kernels::AutocastScope autocast(bf16());
      const at::Tensor said = classes_of_pixels(decoder.logits(maps));
      counts.add(eval_.masks.narrow(0, first, said.size(0)), said);
    }
    return segmentation_quality(counts);
  }

  void save_state(const std::filesystem::path& file) const override {
    save_training_state(file, parameters_, adam_, {{"iteration", iteration_}});
  }

  void load_state(const std::filesystem::path& file) override {
    iteration_ = counter_of(load_training_state(file, parameters_, adam_), "iteration", file);
  }

  void write_weights(const std::filesystem::path& file,
                     const std::map<std::string, std::string>& labels) const override {
    save_weights(file, parameters_, labels);
  }

 private:
  /// Of the chosen kernels with LibTorch's composition, in double precision behind the backbone.
  Quality parity() const {
    const SegmentBackbone reference(find_asset(kMobileNetV2File, context().home),
                                    kernels::conv_chain_operator().get("reference"));
    const at::Tensor pictures = prepared_scenes(eval_.pictures.narrow(0, 0, kAtOnce));
    BackboneMaps wanted = reference.maps(pictures);
    const BackboneMaps got = maps_of(eval_, 0);
    const double tolerance = bf16() ? 0.05 : 1e-4;
    std::vector<Check> checks;
    for (std::size_t i = 0; i < got.size(); ++i) {
      checks.push_back(
          relative_error("maps-" + std::to_string(4 << i), got[i], wanted[i], tolerance));
      wanted[i] = wanted[i].to(at::kDouble);
    }
    const Decoder decoder(parameters_, kernels::conv_chain_operator().select(context().kernels));
    const kernels::AutocastScope autocast(bf16());
    checks.push_back(relative_error("logits", decoder.logits(got),
                                    decoder_logits(parameters_, wanted), tolerance));
    return share_of_tolerance(kParity, checks);
  }

  static double learning_rate_of(const WorkloadContext& context) {
    const std::string& text = context.settings.at("learning-rate");
    return number_in("--set learning-rate=" + printable(text), text, 0, 10);
  }

  void build() override {
    const auto chain = kernels::conv_chain_operator().select(context().kernels);
    backbone_.emplace(find_asset(kMobileNetV2File, context().home), chain);
    adam_step_ = kernels::optimizer_operator().select(context().kernels);
    parameters_ = decoder_parameters(kMaskClasses);
    set_initial_values(parameters_, context().seeds.weights);
    adam_ = kernels::make_adam_state(parameters_.trainable());
  }

  WorkloadFacts facts_of_model() const override {
    const SceneSet& set = scene_set("mini");
    const double forward = static_cast<double>(context().batch_size) *
                           decoder_flops(set.height, set.width, kMaskClasses);
    // Weights get a gradient, and so do the maps, but for those of the backbone.
    const double of_backbone =
        static_cast<double>(context().batch_size) * lateral_flops(set.height, set.width);
    Cost cost{.forward_flops = forward,
              .step_flops = 3 * forward - of_backbone,
              .precision = bf16() ? "bf16" : "fp32"};
    cost.calls["convolutions"] = kDecoderConvolutions;
    return {.cost = cost,
            .hyperparameters = {{"opt_name", "adam"},
                                {"opt_base_learning_rate", context().settings.at("learning-rate")},
                                {"opt_weight_decay", "0"},
                                {"opt_learning_rate_schedule", "cosine"},
                                {"opt_learning_rate_warmup_epochs", "1"},
                                {"global_batch_size", std::to_string(context().batch_size)},
                                {"num_classes", std::to_string(kMaskClasses)},
                                {"frozen", "the whole of MobileNetV2"}},
            .weights = {backbone_->weights()}};
  }

  BackboneMaps maps_of(const MaskedScenes& scenes, std::int64_t first) const {
    const at::NoGradGuard no_gradients;
    const kernels::AutocastScope autocast(bf16());
    const std::int64_t here = std::min(kAtOnce, scenes.count() - first);
    return backbone_->maps(prepared_scenes(scenes.pictures.narrow(0, first, here)));
  }

  at::Tensor next_batch() const {
    const at::Tensor batch = at::empty({context().batch_size}, at::kLong);
    auto* const to = batch.mutable_data_ptr<std::int64_t>();
    const auto position = static_cast<std::size_t>(iteration_ * context().batch_size);
    for (std::size_t i = 0; i < static_cast<std::size_t>(context().batch_size); ++i) {
      to[i] = static_cast<std::int64_t>(order_->at(position + i).image);
    }
    return batch;
  }

  LearningRate learning_rate() const {
    const auto epoch = static_cast<double>(steps_per_epoch());
    return {Schedule::kCosine, learning_rate_of(context()), kWarmupEpochs * epoch,
            static_cast<double>(context().max_epochs) * epoch};
  }

  MaskedScenes train_{}, eval_{};
  std::optional<SegmentBackbone> backbone_{};
  ParameterStore parameters_{};
  kernels::AdamFn* adam_step_ = nullptr;
  kernels::AdamState adam_{};
  std::optional<TrainingOrder> order_{};
  BackboneMaps maps_{};  ///< of all training scenes
  std::int64_t iteration_ = 0;
};

WorkloadInfo info() {
  return {
      .name = "segment-train",
      .summary = "Training of a light segmentation decoder on MobileNetV2's maps to a target mIoU.",
      .offers = {{"precision", {"fp32", "bf16"}},
                 {"allocator", kernels::allocator_names()},
                 {"keep_weights", {"no", "yes"}}},
      .settings = {{"learning-rate", "3e-3", "Adam's rate after the warm-up", {}}},
      .operators = operator_infos({"conv-chain", "optimizer"})};
}

const RegisterWorkload registered(info, [] { return std::make_unique<SegmentTraining>(); });

}  // namespace
}  // namespace harness::workloads
