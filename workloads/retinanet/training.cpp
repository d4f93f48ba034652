#include "workloads/retinanet/training.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/number.hpp"
#include "harness/base/quality.hpp"
#include "harness/base/text.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/threads.hpp"
#include "workloads/retinanet/calibration.hpp"
#include "workloads/retinanet/cost.hpp"
#include "workloads/retinanet/detection_evaluation.hpp"
#include "workloads/retinanet/golden.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/preparation.hpp"
#include "workloads/torch/training_state.hpp"
#include "workloads/torch/tuning.hpp"
#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kLargestExtent = 4096;
constexpr const char* kBuiltInGolden = "tests/golden/retinanet_b.json";

// No fmt in files that include LibTorch: it brings headers of another version than the library's.
double positive_number(const std::map<std::string, std::string>& settings, const std::string& key,
                       int most) {
  const std::string& text = settings.at(key);
  return number_in("--set " + key + "=" + printable(text), text, 0, most);
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

bool detects(const WorkloadContext& context) { return context.quality_metric == kDetectionMetric; }

}  // namespace

WorkloadInfo training_info(const std::string& name, const std::string& summary,
                           const std::string& image_size, const std::string& learning_rate,
                           const std::string& warmup_epochs) {
  return {name,
          summary,
          {{"precision", {"fp32", "bf16"}},
           {"allocator", kernels::allocator_names()},
           {"keep_weights", {"no", "yes"}}},
          {{"weights", "", "saved by PyTorch or as safetensors: a backbone or the whole model", {}},
           {"image-size", image_size, "HEIGHTxWIDTH the images are resized to", {}},
           {"learning-rate", learning_rate, "Adam's rate after the warm-up", {}},
           {"warmup-epochs", warmup_epochs, "epochs of linear warm-up", {}},
           {"repeat-batch", "no", "train on the first batch again and again", {"no", "yes"}},
           {"workers", "2", "threads that decode pictures ahead of the step", {}}},
          operator_infos({"box-loss", "conv-block", "focal-loss", "matcher", "optimizer"}),
          {"retinanet-golden/1"},
          "pictures in COCO format",
          true};
}

RetinaNetTraining::Settings RetinaNetTraining::parse_settings(
    const std::map<std::string, std::string>& settings) const {
  Settings parsed;
  const std::string& size = settings.at("image-size");
  const std::vector<std::string> parts = split(size, 'x');
  const std::int64_t smallest = smallest_extent(spec_.architecture);
  const auto extent = [&](std::size_t i) -> std::int64_t {
    const auto value = i < parts.size() ? parse_integer(parts[i]) : std::nullopt;
    if (parts.size() == 2 && value && *value >= smallest && *value <= kLargestExtent) return *value;
    throw Error("--set image-size=" + printable(size),
                "not HEIGHTxWIDTH with extents from " + std::to_string(smallest) + " to " +
                    std::to_string(kLargestExtent),
                "for example --set image-size=800x800");
  };
  parsed.height = extent(0);
  parsed.width = extent(1);
  parsed.learning_rate = positive_number(settings, "learning-rate", 10);
  parsed.warmup_epochs = positive_number(settings, "warmup-epochs", 1000);
  const std::string& workers = settings.at("workers");
  parsed.workers =
      static_cast<int>(integer_in("--set workers=" + printable(workers), workers, 1, 256));
  parsed.repeat_batch = settings.at("repeat-batch") == "yes";
  parsed.weights = settings.at("weights");
  return parsed;
}

Description RetinaNetTraining::describe(const WorkloadContext& context) const {
  const Settings settings = parse_settings(context.settings);
  // The reference's matcher makes a matrix boxes x anchors; until the data is known, small ones.
  std::size_t boxes = 32;
  if (data_) {
    for (const ImageRecord& image : data_->train.images) boxes = std::max(boxes, image.box_count);
  }
  if (context.kernels.at("matcher") != "reference") boxes = 0;
  const std::size_t kept = data_ ? kept_picture_bytes(data_->train) : 0;
  return {static_cast<double>(kept) +
          retinanet_memory_bytes(context.batch_size, settings.height, settings.width, spec_.classes,
                                 static_cast<std::int64_t>(boxes), spec_.architecture)};
}

DataReport RetinaNetTraining::open_data(const WorkloadContext& context) {
  const Preparation preparation = preparation_of(context);
  data_ = std::make_shared<DataSource>(
      context.data_dir.empty()
          ? open_fashion_scenes(scene_set(spec_.scenes), spec_.classes, preparation)
          : open_data_folder(context.data_dir, spec_.classes, preparation));
  const std::string root = printable(data_->layout.root.string());
  if (data_->train.images.empty()) throw Error(root, "has no training images");
  if (detects(context)) {
    if (data_->eval.images.empty()) throw Error(root, "has no evaluation images");
    coco_ground_truth(data_->eval);  // refuses a split without a box before hours of training
  }
  if (static_cast<std::int64_t>(data_->train.images.size()) < context.global_batch_size()) {
    throw Error("training data",
                std::to_string(data_->train.images.size()) + " images do not make one batch of " +
                    std::to_string(context.global_batch_size()),
                context.world() == 1 ? "use a smaller --batch-size or more data"
                                     : "use fewer --ranks, a smaller --batch-size or more data");
  }
  DataReport report{data_->artifact, data_->layout.root};
  report.train_samples = static_cast<std::int64_t>(data_->train.images.size());
  report.eval_samples = static_cast<std::int64_t>(data_->eval.images.size());
  return report;
}

void RetinaNetTraining::build() {
  settings_ = parse_settings(context().settings);
  model_.emplace(RetinaNetConfig{.num_classes = spec_.classes,
                                 .height = settings_.height,
                                 .width = settings_.width,
                                 .bf16 = bf16(),
                                 .kernels = context().kernels,
                                 .architecture = spec_.architecture});
  adam_step_ = kernels::optimizer_operator().select(context().kernels);
  load_initial_weights();
  adam_ = kernels::make_adam_state(model_->parameters().trainable());
  if (TorchRanks* ranks = torch_ranks(context().ranks)) {
    expect_same(*ranks, "weights", hash_of(model_->parameters()), "give each the same weights");
    gradients_.emplace(*ranks, model_->parameters().trainable(), sum_precision(context()),
                       context().stopwatch);
  } else if (recorded() && context().stopwatch != nullptr) {
    gradient_times_.emplace(model_->parameters().trainable(),
                            [stopwatch = context().stopwatch] { return stopwatch->now(); });
  }
}

void RetinaNetTraining::load_initial_weights() {
  model_->parameters().set_initial_values(context().seeds.weights);
  if (settings_.weights.empty()) {
    weights_ = {"initial weights",
                "seeded initialisation, seed " + std::to_string(context().seeds.weights),
                hash_of(model_->parameters()),
                {}};
    return;
  }
  weights_ = load_weights(settings_.weights, model_->parameters().by_name()).artifact;
}

BatchOptions RetinaNetTraining::batch_options() const {
  BatchOptions options{
      context().batch_size,         settings_.height, settings_.width, context().seeds.data_order,
      context().seeds.augmentation, settings_.workers};
  options.start = iteration_ * context().global_batch_size();
  options.rank = context().rank();
  options.world = context().world();
  return options;
}

void RetinaNetTraining::begin_steps() {
  if (spec_.calibration_images > 0 && settings_.weights.empty() && !resumed_) calibrate();
  batches_.emplace(data_->train, batch_options());
}

// From pictures of their own draw: those of the first batches, which are seen again in training.
void RetinaNetTraining::calibrate() {
  BatchOptions options = batch_options();
  options.batch_size = std::min<std::int64_t>(
      spec_.calibration_images, static_cast<std::int64_t>(data_->train.images.size()));
  options.rank = 0;  // each rank does all of it, and comes to the same
  options.world = 1;
  DetectionBatches batches(data_->train, options);
  calibrate_norms(*model_, batches.next(while_waiting()).images);
}

std::int64_t RetinaNetTraining::steps_per_epoch() const {
  return static_cast<std::int64_t>(data_->train.images.size()) / context().global_batch_size();
}

// Ranks decide together that they stop, and wait for pictures each for itself.
std::function<void()> RetinaNetTraining::while_waiting() const {
  return context().world() == 1 ? context().interrupted : [] {};
}

Batch RetinaNetTraining::next_batch() {
  if (!settings_.repeat_batch) return batches_->next(while_waiting());
  if (!repeated_) repeated_ = batches_->next(while_waiting());
  return *repeated_;
}

StepStats RetinaNetTraining::step() {
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
    if (gradient_times_) gradient_times_->begin();
    total.backward();
    if (gradient_times_) gradient_times_->end();
    outputs.reset();
  }
  if (gradients_) {
    const Phase phase = context().phase("communication");
    gradients_->finish();
  }
  {
    const Phase phase = context().phase("optimizer");
    adam_step_(adam_, learning_rate().at(iteration_));
    kernels::clear_gradients(adam_);
  }
  ++iteration_;
  return {context().global_batch_size(),
          {{"total", total.item<double>()},
           {"classification", losses->classification.item<double>()},
           {"box", losses->box.item<double>()}}};
}

Quality RetinaNetTraining::evaluate() {
  if (!detects(context())) {
    return share_of_tolerance("golden-parity",
                              verify_golden(context().home / kBuiltInGolden, context().kernels,
                                            context().precision, torch_ranks(context().ranks)));
  }
  EvaluationOptions options;
  options.workers = settings_.workers;
  return detection_quality(evaluate_detections(*model_, data_->eval, options, context()));
}

LearningRate RetinaNetTraining::learning_rate() const {
  const auto epoch = static_cast<double>(steps_per_epoch());
  return {spec_.schedule, settings_.learning_rate, settings_.warmup_epochs * epoch,
          static_cast<double>(context().max_epochs) * epoch};
}

void RetinaNetTraining::save_state(const std::filesystem::path& file) const {
  save_training_state(file, model_->parameters(), adam_, {{"iteration", iteration_}});
}

void RetinaNetTraining::write_weights(const std::filesystem::path& file,
                                      const std::map<std::string, std::string>& labels) const {
  save_weights(file, model_->parameters(), labels);
}

void RetinaNetTraining::load_state(const std::filesystem::path& file) {
  iteration_ =
      counter_of(load_training_state(file, model_->parameters(), adam_), "iteration", file);
  resumed_ = true;
}

WorkloadFacts RetinaNetTraining::facts_of_model() const {
  return {
      .cost = retinanet_cost(context().batch_size, settings_.height, settings_.width, spec_.classes,
                             bf16(), spec_.architecture),
      .hyperparameters = hyperparameters(),
      .weights = {weights_},
      .gradients = gradient_times_ ? gradient_times_->buckets() : std::vector<GradientBucket>()};
}

std::map<std::string, std::string> RetinaNetTraining::hyperparameters() const {
  const auto& settings = context().settings;
  std::map<std::string, std::string> values = {
      {"opt_name", "adam"},
      {"opt_base_learning_rate", settings.at("learning-rate")},
      {"opt_weight_decay", "0"},
      {"opt_learning_rate_warmup_epochs", settings.at("warmup-epochs")},
      {"opt_learning_rate_warmup_factor", "0.001"},  // kWarmupFactor
      {"gradient_accumulation_steps", "1"},
      {"global_batch_size", std::to_string(context().global_batch_size())},
      {"num_classes", std::to_string(spec_.classes)},
      {"frozen",
       spec_.architecture.trains_whole_body ? "batch norms" : "stem, layer1, batch norms"},
      {"memory_format", "channels_last"}};
  if (spec_.schedule == Schedule::kCosine) values["opt_learning_rate_schedule"] = "cosine";
  if (spec_.calibration_images > 0) {
    values["norm_calibration_images"] = std::to_string(spec_.calibration_images);
  }
  return values;
}

std::vector<Check> RetinaNetTraining::verify(const std::filesystem::path& golden,
                                             const WorkloadContext& context) {
  kernels::use_allocator(context.allocator);
  kernels::set_threads(context.threads);
  use_tuning(context.tuning);
  return verify_golden(golden, context.kernels, context.precision);
}

}  // namespace harness::workloads
