#include "workloads/inference/inference.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/runtime/autocast.hpp"
#include "workloads/data/random.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kEvaluationBatch = 32;

}  // namespace

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
  const kernels::AutocastScope autocast(bf16());
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
    const kernels::AutocastScope autocast(bf16());
    answers.push_back(answer(batch));
  }
  if (!queue_.empty()) load(queue_);
  return score(at::cat(answers));
}

std::vector<float> Inference::answer_query(const Samples& samples) {
  const c10::InferenceMode no_gradients;
  const kernels::AutocastScope autocast(bf16());
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
