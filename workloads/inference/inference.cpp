#include "workloads/inference/inference.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "kernels/runtime/autocast.hpp"
#include "workloads/data/random.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kEvaluationBatch = 32;

}  // namespace

struct Inference::Precision {
  explicit Precision(const Inference& task)
      : autocast(task.bf16()), int8(task.ranges_ ? &*task.ranges_ : nullptr) {}

  kernels::AutocastScope autocast;
  kernels::Int8Scope int8;
};

void Inference::build() {
  build_model();
  ranges_.reset();
  if (context().precision == "int8") calibrate();
}

void Inference::calibrate() {
  const std::vector<std::int64_t>& listed = context().calibration;
  if (listed.empty()) {
    throw Error("--precision int8", "the rules list no samples to calibrate by",
                "\"calibration\" in the rules, or another precision");
  }
  const std::int64_t there = training_samples();
  if (there == 0) {
    throw Error("--precision int8", "these data have no training samples to calibrate by",
                "leave --data out, or choose another precision");
  }
  kernels::Int8Ranges ranges;
  const c10::InferenceMode no_gradients;
  const kernels::CalibrationScope calibration(ranges);
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (listed[i] >= there) {
      throw Error("calibration sample " + std::to_string(listed[i]) + " of the rules",
                  "is none: the training set has " + std::to_string(there), "samples count from 0");
    }
    context().interrupted();
    context().progress("calibrating int8", static_cast<std::int64_t>(i), std::ssize(listed));
    try {
      run_training_sample(listed[i]);
    } catch (const std::invalid_argument& error) {
      throw Error("calibration sample " + std::to_string(listed[i]), error.what(),
                  "look at what the model gives in fp32");
    }
  }
  ranges_ = std::move(ranges);
}

std::map<std::string, std::string> Inference::arithmetic() const {
  if (!ranges_) return {};
  return {{"int8_calibration_samples", std::to_string(context().calibration.size())},
          {"int8_ranges_sha256", sha256_hex(ranges_->text())},
          {"int8_sums", kernels::adds_in_32_bits() ? "32 bits" : "pairs in 16 bits"}};
}

void Inference::begin_steps() {
  queue_ = shuffled(samples(), CounterRandom(stream_key(context().seeds.data_order)));
  queue_.resize(static_cast<std::size_t>(std::min(samples(), context().samples_in_memory)));
  load(queue_);
}

Inference::Samples Inference::next_query() {
  Samples query;
  for (std::int64_t i = 0; i < context().batch_size; ++i) {
    query.push_back(queue_[next_]);
    next_ = (next_ + 1) % queue_.size();
  }
  return query;
}

StepStats Inference::step() {
  const Samples query = next_query();
  const Phase phase = context().phase("forward");
  const c10::InferenceMode no_gradients;
  const Precision precision(*this);
  const at::Tensor answers = answer(query);
  return {context().batch_size, {{"answer", answers.mean().item<double>()}}};
}

Quality Inference::evaluate() {
  const c10::InferenceMode no_gradients;
  if (!judges_answers()) return score({});
  std::vector<at::Tensor> answers;
  for (std::int64_t first = 0; first < samples(); first += kEvaluationBatch) {
    context().interrupted();
    context().progress("answering", first, samples());
    Samples batch(static_cast<std::size_t>(std::min(kEvaluationBatch, samples() - first)));
    std::iota(batch.begin(), batch.end(), first);
    load(batch);
    const Precision precision(*this);
    answers.push_back(answer(batch).clone());  // a model may answer in the same memory each time
  }
  if (!queue_.empty()) load(queue_);
  return score(at::cat(answers));
}

std::vector<float> Inference::answer_query(const Samples& samples) {
  const c10::InferenceMode no_gradients;
  const Precision precision(*this);
  const at::Tensor rows = answer(samples).to(at::kFloat).contiguous();
  const float* const values = rows.const_data_ptr<float>();
  return {values, values + rows.numel()};
}

Quality Inference::score_answers(const std::vector<float>& rows) const {
  at::Tensor answers = at::empty({samples(), static_cast<std::int64_t>(rows.size()) / samples()});
  std::copy(rows.begin(), rows.end(), answers.mutable_data_ptr<float>());
  return score(answers);
}

at::Tensor linear_by_row(const at::Tensor& features, const at::Tensor& weight,
                         const at::Tensor& bias) {
  const at::Tensor inputs = features.to(at::kFloat);
  at::Tensor outputs = at::empty({inputs.size(0), weight.size(0)});
  for (std::int64_t i = 0; i < inputs.size(0); ++i) {
    at::Tensor row = outputs[i];
    at::addmv_out(row, bias, weight, inputs[i]);
  }
  return outputs;
}

}  // namespace harness::workloads
