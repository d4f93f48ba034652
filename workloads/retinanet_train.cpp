// The main workload: MLPerf Training v5.1's RetinaNet training step on detection data.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/run/registry.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/threads.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/detection_batches.hpp"
#include "workloads/operator_infos.hpp"
#include "workloads/retinanet/cost.hpp"
#include "workloads/retinanet/golden.hpp"
#include "workloads/retinanet/model.hpp"
#include "workloads/torch_workload.hpp"
#include "workloads/weights_loading.hpp"

namespace harness::workloads {
namespace {

constexpr int kClasses = 264;
constexpr double kWarmupFactor = 1e-3;  // also in hyperparameters()
constexpr std::int64_t kLargestExtent = 4096;
constexpr const char* kBuiltInGolden = "tests/golden/retinanet_b.json";

struct TrainSettings {
  std::int64_t height = 800;
  std::int64_t width = 800;
  double learning_rate = 1e-4;
  double warmup_epochs = 1;
  int workers = 2;
  bool repeat_batch = false;
  std::string weights{};
};

// No fmt in files that include LibTorch: it brings headers of another version than the library's.
double positive_number(const std::map<std::string, std::string>& settings, const std::string& key,
                       int most) {
  const std::optional<double> value = parse_number(settings.at(key));
  if (value && *value >= 0 && *value <= most) return *value;
  throw Error("--set " + key + "=" + printable(settings.at(key)),
              "not a number from 0 to " + std::to_string(most));
}

TrainSettings parse_settings(const std::map<std::string, std::string>& settings) {
  TrainSettings parsed;
  const std::string& size = settings.at("image-size");
  const std::vector<std::string> parts = split(size, 'x');
  const auto extent = [&](std::size_t i) -> std::int64_t {
    const auto value = i < parts.size() ? parse_integer(parts[i]) : std::nullopt;
    // P7 is a 128th of the image; below that it would have no stride of its own.
    if (parts.size() == 2 && value && *value >= smallest_extent() && *value <= kLargestExtent)
      return *value;
    throw Error("--set image-size=" + printable(size),
                "not HEIGHTxWIDTH with extents from " + std::to_string(smallest_extent()) + " to " +
                    std::to_string(kLargestExtent),
                "for example --set image-size=800x800");
  };
  parsed.height = extent(0);
  parsed.width = extent(1);
  parsed.learning_rate = positive_number(settings, "learning-rate", 10);
  parsed.warmup_epochs = positive_number(settings, "warmup-epochs", 1000);
  const auto workers = parse_integer(settings.at("workers"));
  if (!workers || *workers < 1 || *workers > 256) {
    throw Error("--set workers=" + printable(settings.at("workers")),
                "not a whole number from 1 to 256");
  }
  parsed.workers = static_cast<int>(*workers);
  parsed.repeat_batch = settings.at("repeat-batch") == "yes";
  parsed.weights = settings.at("weights");
  return parsed;
}

/// SHA-256 over all tensors in state-dict order, as they lie in memory when contiguous.
std::string hash_of(const ParameterStore& parameters) {
  Sha256 hash;
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor values = parameter.tensor.detach().contiguous();
    hash.update(values.const_data_ptr(), values.nbytes());
  }
  return hash.hex();
}

class RetinaNetTrain : public TorchWorkload {
 public:
  double estimate_memory(const WorkloadContext& context) override {
    settings_ = parse_settings(context.settings);
    // The reference's matcher makes a matrix boxes x anchors; until the data is known, small ones.
    std::size_t boxes = 32;
    if (data_) {
      for (const ImageRecord& image : data_->train.images) boxes = std::max(boxes, image.box_count);
    }
    if (context.kernels.at("matcher") != "reference") boxes = 0;
    return retinanet_memory_bytes(context.batch_size, settings_.height, settings_.width, kClasses,
                                  static_cast<std::int64_t>(boxes));
  }

  double estimate_resident_memory(const WorkloadContext& /*context*/) override {
    return retinanet_resident_bytes(kClasses);
  }

  DataReport open_data(const WorkloadContext& context) override {
    Preparation preparation;
    preparation.threads = context.threads;
    preparation.progress = context.progress;
    preparation.interrupted = context.interrupted;
    data_ = std::make_shared<DataSource>(
        context.data_dir.empty() ? open_fashion_scenes(scene_set("full"), kClasses, preparation)
                                 : open_data_folder(context.data_dir, kClasses, preparation));
    if (data_->train.images.empty()) {
      throw Error(printable(data_->layout.root.string()), "has no training images");
    }
    return {data_->artifact, data_->layout.root};
  }

  bool share_data(const Workload& other) override {
    const auto* same = dynamic_cast<const RetinaNetTrain*>(&other);
    if (same == nullptr) return false;
    data_ = same->data_;
    return true;
  }

  StepStats step() override {
    Batch batch;
    {
      const Phase phase = context().phase("data");
      batch = next_batch();
    }
    std::optional<HeadOutputs> outputs;
    {
      const Phase phase = context().phase("forward");
      outputs = model_->forward(batch.images);
    }
    std::optional<Losses> losses;
    {
      const Phase phase = context().phase("loss");
      losses = model_->loss(*outputs, batch.targets);
    }
    const at::Tensor total = losses->total();
    {
      const Phase phase = context().phase("backward");
      total.backward();
      outputs.reset();
    }
    {
      const Phase phase = context().phase("optimizer");
      adam_step_(adam_, learning_rate());
      kernels::clear_gradients(adam_);
    }
    ++iteration_;
    return {context().batch_size,
            {{"total", total.item<double>()},
             {"classification", losses->classification.item<double>()},
             {"box", losses->box.item<double>()}}};
  }

  Quality evaluate() override {
    return share_of_tolerance(
        "golden-parity",
        verify_golden(context().home / kBuiltInGolden, context().kernels, context().precision));
  }

  Cost cost() const override {
    return retinanet_cost(context().batch_size, settings_.height, settings_.width, kClasses,
                          bf16());
  }

  std::map<std::string, std::string> hyperparameters() const override {
    return {{"opt_name", "adam"},
            {"opt_base_learning_rate", context().settings.at("learning-rate")},
            {"opt_weight_decay", "0"},
            {"opt_learning_rate_warmup_epochs", context().settings.at("warmup-epochs")},
            {"opt_learning_rate_warmup_factor", "0.001"},
            {"gradient_accumulation_steps", "1"},
            {"global_batch_size", std::to_string(context().batch_size)},
            {"num_classes", std::to_string(kClasses)},
            {"frozen", "stem, layer1, batch norms"},
            {"memory_format", "channels_last"}};
  }

  std::vector<Artifact> weights() const override { return {weights_}; }

  std::vector<Check> verify(const std::filesystem::path& golden,
                            const WorkloadContext& context) override {
    kernels::use_allocator(context.allocator);
    kernels::set_threads(context.threads);
    return verify_golden(golden, context.kernels, context.precision);
  }

 private:
  void build() override {
    model_.emplace(
        RetinaNetConfig{kClasses, settings_.height, settings_.width, bf16(), context().kernels});
    adam_step_ = kernels::optimizer_operator().select(context().kernels);
    load_initial_weights();
    adam_ = kernels::make_adam_state(model_->parameters().trainable());
    batches_.emplace(data_->train, BatchOptions{context().batch_size, settings_.height,
                                                settings_.width, context().seeds.data_order,
                                                context().seeds.augmentation, settings_.workers});
  }

  void load_initial_weights() {
    model_->parameters().set_initial_values(context().seeds.weights);
    if (settings_.weights.empty()) {
      weights_ = {"initial weights",
                  "seeded initialisation, seed " + std::to_string(context().seeds.weights),
                  hash_of(model_->parameters()),
                  {}};
      return;
    }
    std::map<std::string, at::Tensor> destinations;
    for (const Parameter& parameter : model_->parameters().all()) {
      destinations.emplace(parameter.name, parameter.tensor);
    }
    weights_ = load_weights(settings_.weights, destinations).artifact;
  }

  Batch next_batch() {
    if (!settings_.repeat_batch) return batches_->next(context().interrupted);
    if (!repeated_) repeated_ = batches_->next(context().interrupted);
    return *repeated_;
  }

  /// Linear from a thousandth during the first epochs, then constant.
  double learning_rate() const {
    const double warmup_iterations =
        settings_.warmup_epochs * static_cast<double>(batches_->batches_per_epoch());
    const auto iteration = static_cast<double>(iteration_);
    if (iteration >= warmup_iterations) return settings_.learning_rate;
    const double share = iteration / warmup_iterations;
    return settings_.learning_rate * (kWarmupFactor * (1 - share) + share);
  }

  TrainSettings settings_;
  std::shared_ptr<const DataSource> data_;  ///< shared between the variants of an ablation
  std::optional<RetinaNet> model_;
  kernels::AdamFn* adam_step_ = nullptr;
  kernels::AdamState adam_;
  std::optional<DetectionBatches> batches_;
  std::optional<Batch> repeated_;
  Artifact weights_;
  std::int64_t iteration_ = 0;
};

WorkloadInfo info() {
  return {"retinanet-train",
          "Training step of MLPerf Training v5.1's RetinaNet-ResNeXt50 on detection data.",
          {"fp32", "bf16"},
          kernels::allocator_names(),
          {{"weights", "", "state dict saved by PyTorch: a backbone or the whole model", {}},
           {"image-size", "800x800", "HEIGHTxWIDTH the images are resized to", {}},
           {"learning-rate", "1e-4", "Adam's rate after the warm-up", {}},
           {"warmup-epochs", "1", "epochs of linear warm-up", {}},
           {"repeat-batch", "no", "train on the first batch again and again", {"no", "yes"}},
           {"workers", "2", "threads that decode pictures ahead of the step", {}}},
          operator_infos(),
          {"retinanet-golden/1"},
          true};
}

const RegisterWorkload registered(info, [] { return std::make_unique<RetinaNetTrain>(); });

}  // namespace
}  // namespace harness::workloads
