#include "kernels/encoder/encoder.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/int8/int8.hpp"

namespace harness::kernels {
namespace {

/// What stands behind a linear layer.
struct Behind {
  bool gelu = false;
  std::optional<at::Tensor> residual{};
};

at::Tensor linear(const at::Tensor& x, const EncoderLinear& layer, const Behind& behind = {}) {
  if (const Int8Ranges* ranges = int8_now()) {
    return int8_linear_reference({x, layer.weight, layer.bias, behind.gelu, behind.residual},
                                 ranges->of(layer.weight));
  }
  at::Tensor out = at::linear(x, layer.weight, layer.bias);
  if (behind.gelu) out = at::gelu(out);
  if (Int8Ranges* ranges = calibrated_now()) ranges->hold(layer.weight, x, out);
  return behind.residual ? out + *behind.residual : out;
}

/// Queries, keys and values. They are one layer where its ranges are of interest, three in eager
/// PyTorch.
std::vector<at::Tensor> query_key_value(const at::Tensor& x, const EncoderLinear& layer) {
  if (int8_now() != nullptr || calibrated_now() != nullptr) return linear(x, layer).chunk(3, -1);
  const std::vector<at::Tensor> weights = layer.weight.chunk(3);
  const std::vector<at::Tensor> biases = layer.bias.chunk(3);
  std::vector<at::Tensor> parts;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    parts.push_back(at::linear(x, weights[i], biases[i]));
  }
  return parts;
}

at::Tensor normalised(const at::Tensor& x, const EncoderNorm& norm, double epsilon) {
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, epsilon);
}

/// Texts as rows of one length, 0 behind the shorter ones.
at::Tensor padded(const EncoderArguments& arguments, std::int64_t longest) {
  const auto texts = static_cast<std::int64_t>(arguments.lengths.size());
  if (texts == 1) return arguments.tokens.view({1, longest});
  at::Tensor tokens = at::zeros({texts, longest}, at::kLong);
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < texts; ++i) {
    const std::int64_t length = arguments.lengths[static_cast<std::size_t>(i)];
    tokens[i].narrow(0, 0, length).copy_(arguments.tokens.narrow(0, begin, length));
    begin += length;
  }
  return tokens;
}

// What eager PyTorch runs for a BERT of the library `transformers`: texts padded to the longest,
// fused attention with a mask where there is padding.
at::Tensor encoder_reference(const EncoderArguments& arguments) {
  const EncoderWeights& weights = arguments.weights;
  const auto texts = static_cast<std::int64_t>(arguments.lengths.size());
  require(texts > 0, "encoder: no text");
  const std::int64_t longest =
      *std::max_element(arguments.lengths.begin(), arguments.lengths.end());
  require(longest <= weights.positions.size(0), "encoder: a text is too long");
  const std::int64_t width = weights.width();
  const std::int64_t deep = width / weights.heads;
  const at::Tensor lengths = at::tensor(arguments.lengths);
  const at::Tensor there = at::arange(longest).unsqueeze(0) < lengths.unsqueeze(1);
  std::optional<at::Tensor> mask;
  if (texts > 1) mask = there.view({texts, 1, 1, longest});

  at::Tensor x = at::embedding(weights.words, padded(arguments, longest)) +
                 weights.positions.narrow(0, 0, longest);
  x = normalised(x, weights.norm, weights.epsilon);
  for (const EncoderLayer& layer : weights.layers) {
    std::vector<at::Tensor> heads = query_key_value(x, layer.query_key_value);
    for (at::Tensor& part : heads) {
      part = part.view({texts, longest, weights.heads, deep}).transpose(1, 2);
    }
    const at::Tensor attention =
        at::scaled_dot_product_attention(heads[0], heads[1], heads[2], mask)
            .transpose(1, 2)
            .reshape({texts, longest, width});
    x = normalised(linear(attention, layer.output, {.residual = x}), layer.attention_norm,
                   weights.epsilon);
    const at::Tensor wide = linear(x, layer.up, {.gelu = true});
    x = normalised(linear(wide, layer.down, {.residual = x}), layer.output_norm, weights.epsilon);
  }
  const at::Tensor counted = there.unsqueeze(2).to(at::kFloat);
  return (x.to(at::kFloat) * counted).sum(1) / lengths.unsqueeze(1);
}

}  // namespace

Operator<EncoderFn>& encoder_operator() {
  static Operator<EncoderFn> instance{
      "encoder", "A text's tokens through the layers of a Transformer, and their mean."};
  return instance;
}

const Register<EncoderFn> registered_encoder{
    encoder_operator(),
    {"reference", "One ATen operator after another, as eager PyTorch runs it.", encoder_reference}};

}  // namespace harness::kernels
