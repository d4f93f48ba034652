// Classification of pictures: MobileNetV2 with ImageNet's weights, and for Fashion-MNIST a linear
// head on its features.
#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "harness/base/error.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/runtime/allocator.hpp"
#include "workloads/classify/mobilenet_v2.hpp"
#include "workloads/classify/pictures.hpp"
#include "workloads/data/fashion_mnist.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/inference/inference.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

constexpr const char* kWeights = "mobilenet_v2-b0353104.pth";
constexpr std::int64_t kSide = kPictureSide;
constexpr std::int64_t kClasses = 10;
// Ridge regression on the features of the first 10,000 training pictures
// (tests/oracle/classify_oracle.py).
constexpr const char* kHead = "workloads/classify/fashion_mnist_head.safetensors";

class Classify : public Inference {
 public:
  Description describe(const WorkloadContext& context) const override {
    constexpr double kModel = 2 * 4 * 2.3e6;  // as read, and as packed
    constexpr double kPicture = 4.0 * 3 * kSide * kSide;
    // At their widest two neighbouring layers have 96 and 144 channels of a quarter of the picture.
    constexpr double kMaps = 4.0 * (96 + 144) * kSide * kSide / 4;
    const auto batch = static_cast<double>(context.batch_size);
    return {kModel + 1024 * kPicture + (batch + 32) * (kPicture + kMaps)};
  }

  DataReport open_data(const WorkloadContext& /*context*/) override {
    data_ = read_fashion_mnist(fashion_mnist_folder());
    DataReport report;
    report.dataset = Artifact{"fashion-mnist",
                              fashion_mnist_folder().string(),
                              data_.sha256,
                              {{"pictures", std::to_string(data_.test.count())}}};
    report.eval_samples = samples();
    return report;
  }

 private:
  void build() override {
    const auto implementation = kernels::conv_block_operator().select(context().kernels);
    model_.emplace(find_asset(kWeights, context().home), implementation);
    head_weight_ = at::empty({kClasses, MobileNetV2::kFeatures});
    head_bias_ = at::empty({kClasses});
    head_ = load_weights(context().home / kHead, {{"weight", head_weight_}, {"bias", head_bias_}})
                .artifact;
  }

  WorkloadFacts facts_of_model() const override {
    const double flops = static_cast<double>(context().batch_size) *
                         (model_->flops(kSide, kSide) + 2.0 * MobileNetV2::kFeatures * kClasses);
    Cost cost{.forward_flops = flops, .step_flops = flops, .precision = bf16() ? "bf16" : "fp32"};
    cost.calls["convolutions"] = model_->convolutions();
    return {.cost = cost,
            .hyperparameters = {{"model", "MobileNetV2"},
                                {"image_size", std::to_string(kSide) + "x" + std::to_string(kSide)},
                                {"classes", std::to_string(kClasses)}},
            .weights = {model_->weights(), head_}};
  }

  std::int64_t samples() const override { return static_cast<std::int64_t>(data_.test.count()); }

  void load(const Samples& samples) override {
    pictures_.clear();
    for (const std::int64_t sample : samples) {
      pictures_[sample] = prepared_picture(data_.test.picture(static_cast<std::size_t>(sample)));
    }
  }

  at::Tensor answer(const Samples& samples) override {
    std::vector<at::Tensor> batch;
    for (const std::int64_t sample : samples) batch.push_back(pictures_.at(sample));
    const at::Tensor pictures = batch.size() == 1 ? batch.front() : at::cat(batch);
    return at::addmm(head_bias_, model_->features(pictures), head_weight_.t());
  }

  Quality score(const at::Tensor& answers) const override {
    const at::Tensor chosen = answers.argmax(1);
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < samples(); ++i) {
      const auto label = data_.test.labels[static_cast<std::size_t>(i)];
      if (chosen[i].item<std::int64_t>() == label) ++right;
    }
    return {.metric = "top-1",
            .direction = Direction::kHigher,
            .value = static_cast<double>(right) / static_cast<double>(samples())};
  }

  FashionMnist data_{};
  std::optional<MobileNetV2> model_;
  at::Tensor head_weight_{}, head_bias_{};
  Artifact head_{};
  std::map<std::int64_t, at::Tensor> pictures_{};  ///< (1, 3, H, W) each, channels_last
};

WorkloadInfo info() {
  return {.name = "classify",
          .summary = "Classification of pictures by MobileNetV2, one query after another.",
          .offers = {{"precision", {"fp32", "bf16"}}, {"allocator", kernels::allocator_names()}},
          .operators = operator_infos({"conv-block"}),
          .uses_data = false};
}

const RegisterWorkload registered(info, [] { return std::make_unique<Classify>(); });

}  // namespace
}  // namespace harness::workloads
