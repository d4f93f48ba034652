// A model of somebody else's that gives its losses, trained as a task file says.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/autocast.hpp"
#include "workloads/checkpoint/tensor.hpp"
#include "workloads/data/random.hpp"
#include "workloads/model/own_program.hpp"
#include "workloads/model/samples.hpp"
#include "workloads/torch/torch_workload.hpp"

namespace harness::workloads {
namespace {

constexpr const char* kTotal = "total";
constexpr std::ptrdiff_t kMostLosses = 64;

/// The shortest text that is this number.
std::string shown(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::unique_ptr<torch::optim::Optimizer> optimizer_of(const ModelTraining& training,
                                                      std::vector<at::Tensor> trained) {
  if (training.optimizer == "adam") {
    return std::make_unique<torch::optim::Adam>(
        std::move(trained),
        torch::optim::AdamOptions(training.learning_rate).weight_decay(training.weight_decay));
  }
  return std::make_unique<torch::optim::SGD>(std::move(trained),
                                             torch::optim::SGDOptions(training.learning_rate)
                                                 .momentum(training.momentum)
                                                 .weight_decay(training.weight_decay));
}

/// The model gets a batch of samples and, where there are any, their labels; it gives one loss or
/// several, whose sum is trained.
class OwnTraining : public TorchWorkload, public Steps {
 public:
  Description describe(const WorkloadContext& context) const override {
    const ModelTask& task = task_of(context);
    // Weights, gradients, and two of the optimiser's. What it needs inside nobody knows.
    constexpr double kOfEachWeight = 4;
    return {kOfEachWeight * program_bytes(task) + held_bytes(task) +
            2 * static_cast<double>(context.batch_size) * input_bytes(task)};
  }

  DataReport open_data(const WorkloadContext& context) override {
    samples_ = open_samples(task_of(context), context);
    DataReport report;
    report.dataset = samples_->artifact();
    report.train_samples = samples_->count();
    return report;
  }

  StepStats step() override {
    const std::vector<at::Tensor> inputs = next_batch();
    StepStats stats{context().batch_size, {}};
    at::Tensor total;
    {
      const Phase phase = context().phase("forward");
      optimizer_->zero_grad();
      const kernels::AutocastScope autocast(bf16());
      total = losses_of(program_->run(inputs), stats);
    }
    {
      const Phase phase = context().phase("backward");
      program_->watch(context().batch_size, [&] { total.backward(); });
    }
    const Phase phase = context().phase("optimizer");
    program_->watch(context().batch_size, [&] { optimizer_->step(); });
    return stats;
  }

  /// Over all samples, as the model is then.
  Quality evaluate() override {
    const at::NoGradGuard no_gradients;
    program_->set_training(false);
    double sum = 0;
    for (std::int64_t first = 0; first < samples_->count(); first += context().batch_size) {
      context().interrupted();
      context().progress("losses", first, samples_->count());
      std::vector<std::int64_t> batch(
          static_cast<std::size_t>(std::min(context().batch_size, samples_->count() - first)));
      std::iota(batch.begin(), batch.end(), first);
      StepStats stats;
      const kernels::AutocastScope autocast(bf16());
      losses_of(program_->run(inputs_of(batch)), stats);
      sum += stats.losses.at(kTotal) * static_cast<double>(batch.size());
    }
    program_->set_training(true);
    const double mean = sum / static_cast<double>(samples_->count());
    Quality quality{.metric = "loss", .direction = Direction::kLower};
    if (std::isfinite(mean)) {
      quality.value = mean;
    } else {
      quality.reason = "not every loss is finite";
    }
    return quality;
  }

 private:
  void build() override {
    const ModelTask& task = task_of(context());
    program_ = std::make_unique<OwnProgram>(context(), task.program, task.format, Script::kAsIs);
    program_->set_training(true);
    optimizer_ = optimizer_of(*task.training, program_->trained_parameters());
    labels_ = samples_->labels();
  }

  WorkloadFacts facts_of_model() const override {
    const ModelTraining& training = *task_of(context()).training;
    WorkloadFacts facts;
    facts.hyperparameters = {{"model", program_->name()},
                             {"optimizer", training.optimizer},
                             {"learning_rate", shown(training.learning_rate)},
                             {"momentum", shown(training.momentum)},
                             {"weight_decay", shown(training.weight_decay)}};
    return facts;
  }

  /// Each epoch has an order of its own, by the seed of the data. The last batch of one goes on
  /// with the next.
  std::int64_t next_sample() {
    if (next_ == order_.size()) {
      order_ = shuffled(samples_->count(),
                        CounterRandom(stream_key(context().seeds.data_order, epoch_++)));
      next_ = 0;
    }
    return order_[next_++];
  }

  std::vector<at::Tensor> next_batch() {
    const Phase phase = context().phase("data");
    std::vector<std::int64_t> batch;
    for (std::int64_t i = 0; i < context().batch_size; ++i) batch.push_back(next_sample());
    return inputs_of(batch);
  }

  /// What the model gets for these samples: its inputs, and labels where there are any.
  std::vector<at::Tensor> inputs_of(const std::vector<std::int64_t>& batch) const {
    std::vector<std::vector<at::Tensor>> parts(task_of(context()).inputs.size());
    std::vector<at::Tensor> labels;
    for (const std::int64_t index : batch) {
      const std::vector<at::Tensor> sample = samples_->sample(index);
      for (std::size_t input = 0; input < parts.size(); ++input) {
        parts[input].push_back(sample[input]);
      }
      if (labels_.defined()) labels.push_back(labels_.narrow(0, index, 1));
    }
    if (labels_.defined()) parts.push_back(labels);
    std::vector<at::Tensor> inputs;
    for (const auto& part : parts) inputs.push_back(at::cat(part));
    return inputs;
  }

  /// Their sum. Throws Error for what is no loss, has no name of its own, or cannot be trained, and
  /// for other names than at first: the series of a result are the same in each step.
  at::Tensor losses_of(const std::vector<Output>& outputs, StepStats& stats) {
    if (std::ssize(outputs) > kMostLosses) {
      program_->refuse("gives " + std::to_string(outputs.size()) + " losses, at most " +
                       std::to_string(kMostLosses) + " are measured");
    }
    at::Tensor total;
    for (const Output& loss : outputs) {
      if (loss.value.numel() != 1 || !loss.value.is_floating_point()) {
        program_->refuse(std::string("gives ") + c10::toString(loss.value.scalar_type()) + " of " +
                         shape_text(loss.value.sizes()) + " as a loss, which is a single number");
      }
      const at::Tensor value = loss.value.reshape({});
      if (!loss.name.empty()) {
        const std::string name = name_of(loss.name);
        // The sum of a sum and its parts would be trained.
        if (name == kTotal) program_->refuse("gives a loss 'total', which is the sum of all");
        if (!stats.losses.emplace(name, value.item<double>()).second) {
          program_->refuse("gives two losses that are both called " + name);
        }
      }
      total = total.defined() ? total + value : value;
    }
    if (!total.defined() || (at::GradMode::is_enabled() && !total.requires_grad())) {
      program_->refuse("gives no loss that hangs on its parameters");
    }
    stats.losses[kTotal] = total.item<double>();
    std::vector<std::string> names;
    for (const auto& [name, loss] : stats.losses) names.push_back(name);
    if (names_.empty()) names_ = names;
    if (names != names_) {
      program_->refuse("gives the losses " + join(names, ", ") + " now, and gave " +
                       join(names_, ", ") + " at first");
    }
    return total;
  }

  /// As metrics may be called.
  std::string name_of(const std::string& loss) const {
    std::string name = loss.substr(0, 32);
    std::replace_if(
        name.begin(), name.end(),
        [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '_');
    return name;
  }

  std::unique_ptr<ModelSampleSet> samples_{};
  at::Tensor labels_{};
  std::unique_ptr<OwnProgram> program_{};
  std::unique_ptr<torch::optim::Optimizer> optimizer_{};
  std::vector<std::string> names_{};  ///< of the losses
  std::vector<std::int64_t> order_{};
  std::size_t next_ = 0;
  std::int64_t epoch_ = 0;
};

WorkloadInfo info() {
  return {.name = "model-train",
          .summary =
              "A model of your own that gives its losses, trained step by step (harness run "
              "--task FILE).",
          .offers = {{"precision", {"fp32", "bf16"}}, {"allocator", kernels::allocator_names()}}};
}

const RegisterWorkload registered(info, [] { return std::make_unique<OwnTraining>(); });

}  // namespace
}  // namespace harness::workloads
