// A model of somebody else's, as a task file describes it: TorchScript, or a package of
// AOTInductor.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/runtime/allocator.hpp"
#include "workloads/checkpoint/tensor.hpp"
#include "workloads/inference/inference.hpp"
#include "workloads/model/own_program.hpp"
#include "workloads/model/samples.hpp"
#include "workloads/model/scores.hpp"

namespace harness::workloads {
namespace {

constexpr const char* kScript = "script";
constexpr std::int64_t kReferenceBatch = 32;

const std::map<std::string, Script>& scripts() {
  static const std::map<std::string, Script> names = {
      {"as-is", Script::kAsIs}, {"frozen", Script::kFrozen}, {"optimized", Script::kOptimized}};
  return names;
}

class OwnModel : public Inference {
 public:
  Description describe(const WorkloadContext& context) const override {
    const ModelTask& task = task_of(context);
    refuse_settings(task, context);
    const double sample = input_bytes(task);
    double answer = 0;
    for (const auto& shape : task.outputs) answer += 4.0 * static_cast<double>(values_of(shape));
    const std::int64_t drawn = task.samples.drawn;
    const std::int64_t count = samples_ ? samples_->count() : drawn;
    // Of data that was not counted yet a batch at least: the rest is known once it is opened.
    const std::int64_t kept =
        std::min(count > 0 ? count : context.batch_size, context.samples_in_memory);
    const auto batch = static_cast<double>(context.batch_size + kReferenceBatch);
    // As read, as a stream, as loaded; and answers by parts and whole, its own and the reference's.
    constexpr double kOfProgram = 3;
    constexpr double kOfAnswers = 4;
    // What it needs inside of itself nobody knows before it runs.
    return {kOfProgram * program_bytes(task) + held_bytes(task) +
            static_cast<double>(kept) * sample + batch * (sample + answer) +
            kOfAnswers * static_cast<double>(count) * answer};
  }

  DataReport open_data(const WorkloadContext& context) override {
    const ModelTask& task = task_of(context);
    samples_ = open_samples(task, context);
    const std::string misfit = metric_misfit(context.quality_metric, task.outputs.front(),
                                             samples_->labels(), samples_->boxes());
    if (!misfit.empty()) {
      throw Error("quality metric '" + context.quality_metric + "' of the task", misfit,
                  "docs/tasks.md has all of them");
    }
    DataReport report;
    report.dataset = samples_->artifact();
    report.eval_samples = samples_->count();
    return report;
  }

 private:
  static void refuse_settings(const ModelTask& task, const WorkloadContext& context) {
    if (const std::string why = precision_misfit(task, context.precision); !why.empty()) {
      throw Error("--precision " + context.precision, why, "leave it out");
    }
    if (task.format != "aotinductor") return;
    if (const std::string& script = context.settings.at(kScript); script != "as-is") {
      throw Error("--set script=" + script, "is for TorchScript", "leave it out");
    }
    // Held against itself it would agree whatever it answers.
    if (!task.reference && is_held_against_reference(context.quality_metric)) {
      throw Error("quality metric '" + context.quality_metric + "' of the task",
                  "a package has no form in fp32 of its own to be held against",
                  "\"reference\" in the task, or a metric by labels");
    }
  }

  void build_model() override {
    const ModelTask& task = task_of(context());
    if (task.reference) require_program(*task.reference);  // long before it is asked
    program_ = std::make_unique<OwnProgram>(context(), task.program, task.format,
                                            scripts().at(context().settings.at(kScript)));
    if (!task.reference || !is_held_against_reference(context().quality_metric)) return;
    // Asked behind all queries; whether it can be is found out before them.
    const c10::InferenceMode no_gradients;
    OwnProgram reference(context(), *task.reference, "torchscript", Script::kAsIs);
    answers_of(reference, {samples_->sample(0)});
  }

  WorkloadFacts facts_of_model() const override {
    const ModelTask& task = task_of(context());
    // The model is no weights of a known one, but what is measured: its hash is the setting
    // 'model'.
    return {.hyperparameters = {{"model", program_->name()}, {"format", task.format}}};
  }

  std::int64_t samples() const override { return samples_->count(); }

  void load(const Samples& samples) override {
    loaded_.clear();
    for (const std::int64_t sample : samples) {
      context().interrupted();
      loaded_[sample] = samples_->sample(sample);
    }
  }

  at::Tensor answer(const Samples& samples) override {
    std::vector<std::vector<at::Tensor>> asked;
    for (const std::int64_t sample : samples) asked.push_back(loaded_.at(sample));
    return answers_of(*program_, asked);
  }

  /// As many samples at a time as the model takes; the last one fills up what is missing.
  at::Tensor answers_of(OwnProgram& program,
                        const std::vector<std::vector<at::Tensor>>& asked) const {
    const auto count = std::ssize(asked);
    const std::int64_t fixed = task_of(context()).batch;
    const std::int64_t size = fixed == 0 ? count : fixed;
    std::vector<at::Tensor> rows;
    for (std::int64_t first = 0; first < count; first += size) {
      const std::int64_t here = std::min(size, count - first);
      std::vector<at::Tensor> inputs;
      for (std::size_t input = 0; input < asked.front().size(); ++input) {
        std::vector<at::Tensor> batch;
        for (std::int64_t i = 0; i < size; ++i) {
          batch.push_back(asked[static_cast<std::size_t>(first + std::min(i, here - 1))][input]);
        }
        inputs.push_back(batch.size() == 1 ? batch.front() : at::cat(batch));
      }
      rows.push_back(rows_of(program, inputs, size).narrow(0, 0, here));
      // The next answer may be in the same memory.
      if (count > size) rows.back() = rows.back().clone();
    }
    return rows.size() == 1 ? rows.front() : at::cat(rows);
  }

  /// (size, values), float32. Throws Error for other outputs than the task says.
  at::Tensor rows_of(OwnProgram& program, const std::vector<at::Tensor>& inputs,
                     std::int64_t size) const {
    const ModelTask& task = task_of(context());
    const std::vector<Output> outputs = program.answer(inputs);
    if (outputs.size() != task.outputs.size()) {
      program.refuse("gives " + format_count(std::ssize(outputs), "output") + ", its task says " +
                     std::to_string(task.outputs.size()));
    }
    std::vector<at::Tensor> rows;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const at::Tensor& output = outputs[i].value;
      std::vector<std::int64_t> shape = task.outputs[i];
      shape.insert(shape.begin(), size);
      const bool numbers = output.layout() == at::kStrided && !output.is_complex();
      if (output.sizes() != at::IntArrayRef(shape) || !numbers) {
        program.refuse("output " + std::to_string(i) + " is " +
                       (output.layout() == at::kStrided ? "" : "sparse ") +
                       c10::toString(output.scalar_type()) + " of " + shape_text(output.sizes()) +
                       ", its task says " + shape_text(shape) + " for a query of " +
                       format_count(size, "sample"));
      }
      rows.push_back(output.to(at::kFloat).reshape({size, -1}));
    }
    return rows.size() == 1 ? rows.front() : at::cat(rows, 1);
  }

  Quality score(const at::Tensor& answers) const override {
    const ModelTask& task = task_of(context());
    return score_model(context().quality_metric,
                       {.rows = answers,
                        .first = values_of(task.outputs.front()),
                        .labels = samples_->labels(),
                        .boxes = samples_->boxes(),
                        .reference = [this] { return reference_answers(); }});
  }

  at::Tensor reference_answers() const {
    const ModelTask& task = task_of(context());
    const c10::InferenceMode no_gradients;
    const ProgramFile& file = task.reference ? *task.reference : task.program;
    const std::string format = task.reference ? "torchscript" : task.format;
    OwnProgram reference(context(), file, format, Script::kAsIs);
    std::vector<at::Tensor> rows;
    for (std::int64_t first = 0; first < samples(); first += kReferenceBatch) {
      context().interrupted();
      context().progress("answering by the reference", first, samples());
      std::vector<std::vector<at::Tensor>> asked;
      for (std::int64_t i = first; i < std::min(first + kReferenceBatch, samples()); ++i) {
        asked.push_back(samples_->sample(i));
      }
      rows.push_back(answers_of(reference, asked).clone());
    }
    return at::cat(rows);
  }

  std::unique_ptr<ModelSampleSet> samples_{};
  std::unique_ptr<OwnProgram> program_{};
  std::map<std::int64_t, std::vector<at::Tensor>> loaded_{};  ///< for each input (1, shape...)
};

WorkloadInfo info() {
  return {.name = "model",
          .summary = "A model of your own, one query after another (harness run --task FILE).",
          .offers = {{"precision", {"fp32", "bf16"}}, {"allocator", kernels::allocator_names()}},
          .settings = {{kScript, "as-is",
                        "how TorchScript runs: as it is, with its weights as constants, or after "
                        "LibTorch's optimize_for_inference",
                        names_of(scripts())}}};
}

const RegisterWorkload registered(info, [] { return std::make_unique<OwnModel>(); });

}  // namespace
}  // namespace harness::workloads
