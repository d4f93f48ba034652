#include "workloads/language/minilm.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <string>

#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

using kernels::EncoderLayer;
using kernels::EncoderLinear;
using kernels::EncoderNorm;

/// The model's tensors by their names in the file, to be filled.
class Named {
 public:
  at::Tensor tensor(const std::string& name, at::IntArrayRef shape) {
    return tensors_[name] = at::empty(shape);
  }

  EncoderLinear linear(const std::string& name, std::int64_t in, std::int64_t out) {
    return {tensor(name + ".weight", {out, in}), tensor(name + ".bias", {out})};
  }

  EncoderNorm norm(const std::string& name) {
    return {tensor(name + ".weight", {MiniLM::kWidth}), tensor(name + ".bias", {MiniLM::kWidth})};
  }

  /// `parts` one below the other are `whole`: what fills them fills it.
  void stacked(const std::vector<std::string>& parts, const EncoderLinear& whole) {
    std::int64_t row = 0;
    for (const std::string& part : parts) {
      tensors_[part + ".weight"] = whole.weight.narrow(0, row, MiniLM::kWidth);
      tensors_[part + ".bias"] = whole.bias.narrow(0, row, MiniLM::kWidth);
      row += MiniLM::kWidth;
    }
  }

  const std::map<std::string, at::Tensor>& all() const { return tensors_; }

 private:
  std::map<std::string, at::Tensor> tensors_{};
};

EncoderLayer layer(Named& named, const std::string& name) {
  constexpr std::int64_t kWidth = MiniLM::kWidth;
  const std::string self = name + ".attention.self.";
  EncoderLayer result;
  result.query_key_value = {at::empty({3 * kWidth, kWidth}), at::empty({3 * kWidth})};
  named.stacked({self + "query", self + "key", self + "value"}, result.query_key_value);
  result.output = named.linear(name + ".attention.output.dense", kWidth, kWidth);
  result.attention_norm = named.norm(name + ".attention.output.LayerNorm");
  result.up = named.linear(name + ".intermediate.dense", kWidth, 4 * kWidth);
  result.down = named.linear(name + ".output.dense", 4 * kWidth, kWidth);
  result.output_norm = named.norm(name + ".output.LayerNorm");
  return result;
}

}  // namespace

MiniLM::MiniLM(const std::filesystem::path& weights, kernels::EncoderFn* encoder)
    : encoder_(encoder) {
  Named named;
  weights_.heads = kHeads;
  weights_.words = named.tensor("embeddings.word_embeddings.weight", {kVocabulary, kWidth});
  weights_.positions = named.tensor("embeddings.position_embeddings.weight", {kMostTokens, kWidth});
  weights_.norm = named.norm("embeddings.LayerNorm");
  const at::Tensor kinds = named.tensor("embeddings.token_type_embeddings.weight", {2, kWidth});
  for (std::int64_t i = 0; i < kLayers; ++i) {
    weights_.layers.push_back(layer(named, "encoder.layer." + std::to_string(i)));
  }
  artifact_ = load_weights(weights, named.all()).artifact;
  // Every text is of the first kind.
  weights_.positions.add_(kinds[0]);
}

at::Tensor MiniLM::embeddings(const std::vector<const std::vector<std::int64_t>*>& texts) const {
  std::vector<std::int64_t> lengths;
  std::int64_t all = 0;
  for (const auto* text : texts) {
    lengths.push_back(static_cast<std::int64_t>(text->size()));
    all += lengths.back();
  }
  const at::Tensor tokens = at::empty({all}, at::kLong);
  auto* to = tokens.mutable_data_ptr<std::int64_t>();
  for (const auto* text : texts) to = std::copy(text->begin(), text->end(), to);
  const at::Tensor means = encoder_({.weights = weights_, .tokens = tokens, .lengths = lengths});
  return means / means.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
}

double MiniLM::flops(std::int64_t tokens) {
  const auto count = static_cast<double>(tokens);
  constexpr auto kWide = static_cast<double>(kWidth);
  // Queries, keys, values and output: 4 kWidth^2; up and down: 8 kWidth^2; scores and their mean.
  return 2 * kLayers * count * (12 * kWide * kWide + 2 * count * kWide);
}

}  // namespace harness::workloads
