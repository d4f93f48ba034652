#include "workloads/language/text_inference.hpp"

#include <algorithm>

#include "harness/base/hash.hpp"
#include "kernels/runtime/allocator.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/torch/operator_infos.hpp"

namespace harness::workloads {
namespace {

constexpr const char* kWeights = "all-minilm-l6-v2.safetensors";
constexpr const char* kVocabulary = "bert-uncased-vocabulary.txt";

}  // namespace

Description TextInference::describe(const WorkloadContext& context) const {
  require_assets({kWeights, kVocabulary}, context.home);
  constexpr double kModel = 4.0 * 22.6e6;
  constexpr double kPacked = 4.0 * 10.6e6;
  // Of one text, widest within attention (the reference's scores) or within a layer's wide product.
  constexpr double kTokens = kMostTokens;
  constexpr double kWide = MiniLM::kWidth;
  constexpr double kScores = 2.0 * MiniLM::kHeads * kTokens * kTokens;
  constexpr double kText = 4.0 * (kTokens * (3 + 2 * 4) * kWide + kScores);
  // The weights are read into memory of their own before the first is copied.
  return {2 * kModel + kPacked +
          kText * static_cast<double>(std::max<std::int64_t>(context.batch_size, 32))};
}

void TextInference::build_model() {
  const auto implementation = kernels::encoder_operator().select(context().kernels);
  model_.emplace(find_asset(kWeights, context().home), implementation);
  const std::filesystem::path vocabulary = find_asset(kVocabulary, context().home);
  vocabulary_ = {kVocabulary, vocabulary.string(), sha256_of_file(vocabulary), {}};
  pieces_.emplace(vocabulary);
  tokens_.clear();
  for (const std::string& text : texts()) tokens_.push_back((*pieces_)(text, kMostTokens));
  if (context().precision == "int8") training_texts_ = training_texts();
  build_head();
}

std::int64_t TextInference::training_samples() const { return std::ssize(training_texts_); }

void TextInference::run_training_sample(std::int64_t sample) {
  const std::vector<std::int64_t> tokens =
      (*pieces_)(training_texts_.at(static_cast<std::size_t>(sample)), kMostTokens);
  model_->embeddings({&tokens});
}

WorkloadFacts TextInference::facts_of_model() const {
  double flops = 0;
  double tokens = 0;
  for (const auto& text : tokens_) {
    flops += MiniLM::flops(static_cast<std::int64_t>(text.size()));
    tokens += static_cast<double>(text.size());
  }
  const auto count = static_cast<double>(tokens_.size());
  const double query = static_cast<double>(context().batch_size) * flops / count;
  WorkloadFacts facts;
  // Texts differ in length: this is what a query takes in the mean over all texts.
  facts.cost = Cost{.forward_flops = query, .step_flops = query, .precision = context().precision};
  facts.hyperparameters = {{"model", "MiniLM-L6"},
                           {"most_tokens", std::to_string(kMostTokens)},
                           {"mean_tokens", std::to_string(tokens / count)}};
  facts.weights = {model_->weights(), vocabulary_};
  for (const Artifact& file : head()) facts.weights.push_back(file);
  return facts;
}

at::Tensor TextInference::embeddings(const Samples& samples) const {
  std::vector<const std::vector<std::int64_t>*> batch;
  for (const std::int64_t sample : samples) {
    batch.push_back(&tokens_.at(static_cast<std::size_t>(sample)));
  }
  return model_->embeddings(batch);
}

WorkloadInfo text_task_info(const std::string& name, const std::string& summary) {
  return {.name = name,
          .summary = summary,
          // Texts differ in length, so asking for one of them only says nothing (TEST04).
          .offers = {{"precision", {"fp32", "bf16", "int8"}},
                     {"allocator", kernels::allocator_names()},
                     {"audit", {"none", "TEST01"}}},
          .operators = operator_infos({"encoder"})};
}

}  // namespace harness::workloads
