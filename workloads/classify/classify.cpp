// Classification of pictures: MobileNetV2 with ImageNet's weights and its own head for a folder of
// ImageNet's pictures; for Fashion-MNIST, the default, a linear head on its features.
#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/runtime/allocator.hpp"
#include "workloads/classify/mobilenet_v2.hpp"
#include "workloads/classify/pictures.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/inference/inference.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/preparation.hpp"
#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

// Ridge regression on the features of the first 10,000 training pictures
// (tests/oracle/classify_oracle.py).
constexpr const char* kHead = "workloads/classify/fashion_mnist_head.safetensors";

class Classify : public Inference {
 public:
  Description describe(const WorkloadContext& context) const override {
    require_assets({kMobileNetV2File}, context.home);
    constexpr double kModel = 2 * 4 * 3.6e6;  // as read, and as packed
    const double side = pictures_                  ? static_cast<double>(pictures_->side())
                        : context.data_dir.empty() ? 96
                                                   : 224;
    const double picture = 4.0 * 3 * side * side;
    // At their widest two neighbouring layers have 96 and 144 channels of a quarter of the picture.
    const double maps = 4.0 * (96 + 144) * side * side / 4;
    const auto batch = static_cast<double>(context.batch_size);
    const std::int64_t times = times_over(context);
    // Of a folder that was not opened yet a batch at least; there are thousands of the others.
    const std::int64_t known = pictures_                  ? times * pictures_->count()
                               : context.data_dir.empty() ? context.samples_in_memory
                                                          : context.batch_size;
    const std::int64_t kept = std::min(known, context.samples_in_memory);
    return {kModel + static_cast<double>(kept) * picture + (batch + 32) * (picture + maps)};
  }

  DataReport open_data(const WorkloadContext& context) override {
    const Preparation preparation = preparation_of(context);
    pictures_ = context.data_dir.empty() ? fashion_pictures()
                                         : folder_pictures(context.data_dir, preparation);
    times_over_ = times_over(context);
    DataReport report;
    report.dataset = pictures_->artifact();
    if (times_over_ > 1) report.dataset->details[kTimesOver] = std::to_string(times_over_);
    report.eval_samples = samples();
    return report;
  }

 private:
  void build_model() override {
    const auto implementation = kernels::conv_chain_operator().select(context().kernels);
    const std::filesystem::path weights = find_asset(kMobileNetV2File, context().home);
    model_.emplace(weights, implementation);
    head_weight_ = at::empty({pictures_->classes(), MobileNetV2::kFeatures});
    head_bias_ = at::empty({pictures_->classes()});
    if (context().data_dir.empty()) {
      head_ = load_weights(context().home / kHead, {{"weight", head_weight_}, {"bias", head_bias_}})
                  .artifact;
    } else {
      load_weights(weights,
                   {{"classifier.1.weight", head_weight_}, {"classifier.1.bias", head_bias_}});
    }
  }

  WorkloadFacts facts_of_model() const override {
    const std::int64_t side = pictures_->side();
    const auto classes = static_cast<double>(pictures_->classes());
    const double flops = static_cast<double>(context().batch_size) *
                         (model_->flops(side, side) + 2.0 * MobileNetV2::kFeatures * classes);
    Cost cost{.forward_flops = flops, .step_flops = flops, .precision = context().precision};
    cost.calls["convolutions"] = model_->convolutions();
    WorkloadFacts facts{
        .cost = cost,
        .hyperparameters = {{"model", "MobileNetV2"},
                            {"image_size", std::to_string(side) + "x" + std::to_string(side)},
                            {"classes", std::to_string(pictures_->classes())}},
        .weights = {model_->weights()}};
    if (head_) facts.weights.push_back(*head_);
    return facts;
  }

  /// Of `--set times-over`. Throws Error for what is no number of times.
  static std::int64_t times_over(const WorkloadContext& context) {
    constexpr std::int64_t kMost = 1000;
    const std::string& text = context.settings.at("times-over");
    const auto times = parse_integer(text);
    if (times && *times >= 1 && *times <= kMost) return *times;
    throw Error("--set times-over=" + printable(text, 40),
                "is no whole number from 1 to " + std::to_string(kMost));
  }

  std::int64_t samples() const override { return times_over_ * pictures_->count(); }
  /// Sample after sample the whole set, then the set again.
  std::int64_t picture_of(std::int64_t sample) const { return sample % pictures_->count(); }

  void load(const Samples& samples) override {
    loaded_.clear();
    for (const std::int64_t sample : samples) {
      context().interrupted();
      loaded_[sample] = pictures_->prepared(picture_of(sample));
    }
  }

  std::int64_t training_samples() const override { return pictures_->training_count(); }
  void run_training_sample(std::int64_t sample) override {
    model_->features(pictures_->prepared_training(sample));
  }

  at::Tensor answer(const Samples& samples) override {
    std::vector<at::Tensor> batch;
    for (const std::int64_t sample : samples) batch.push_back(loaded_.at(sample));
    const at::Tensor pictures = batch.size() == 1 ? batch.front() : at::cat(batch);
    return linear_by_row(model_->features(pictures), head_weight_, head_bias_);
  }

  Quality score(const at::Tensor& answers) const override {
    constexpr std::int64_t kMost = 5;
    const at::Tensor best = std::get<1>(answers.topk(kMost, 1));
    std::int64_t right = 0;
    std::int64_t near = 0;
    for (std::int64_t i = 0; i < samples(); ++i) {
      const at::Tensor hits = best[i].eq(pictures_->label(picture_of(i)));
      right += hits[0].item<bool>() ? 1 : 0;
      near += hits.any().item<bool>() ? 1 : 0;
    }
    const auto share = [&](std::int64_t count) {
      return static_cast<double>(count) / static_cast<double>(samples());
    };
    return {.metric = "top-1",
            .direction = Direction::kHigher,
            .value = share(right),
            .details = {{"top-5", share(near)}}};
  }

  std::unique_ptr<PictureSet> pictures_{};
  std::int64_t times_over_ = 1;
  std::optional<MobileNetV2> model_;
  at::Tensor head_weight_{}, head_bias_{};
  std::optional<Artifact> head_{};               ///< where it is a file of its own
  std::map<std::int64_t, at::Tensor> loaded_{};  ///< (1, 3, H, W) each, channels_last
};

WorkloadInfo info() {
  return {
      .name = "classify",
      .summary = "Classification of pictures by MobileNetV2, one query after another.",
      .offers = {{"precision", {"fp32", "bf16", "int8"}},
                 {"allocator", kernels::allocator_names()},
                 {"audit", {"none", "TEST01", "TEST04"}}},
      .settings = {{"times-over",
                    "1",
                    "how often the evaluation set is asked for; 5 makes its 10,000 pictures the "
                    "50,000 samples that MLPerf's checker counts",
                    {}}},
      .operators = operator_infos({"conv-chain"}),
      .data_folder = "pictures of ImageNet's classes, a folder for each class"};
}

const RegisterWorkload registered(info, [] { return std::make_unique<Classify>(); });

}  // namespace
}  // namespace harness::workloads
