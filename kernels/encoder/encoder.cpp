#include "kernels/encoder/encoder.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "kernels/check.hpp"

namespace harness::kernels {
namespace {

at::Tensor linear(const at::Tensor& x, const EncoderLinear& layer) {
  return at::linear(x, layer.weight, layer.bias);
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
    std::vector<at::Tensor> heads;
    for (std::int64_t part = 0; part < 3; ++part) {
      const EncoderLinear one{layer.query_key_value.weight.narrow(0, part * width, width),
                              layer.query_key_value.bias.narrow(0, part * width, width)};
      heads.push_back(linear(x, one).view({texts, longest, weights.heads, deep}).transpose(1, 2));
    }
    const at::Tensor attention =
        at::scaled_dot_product_attention(heads[0], heads[1], heads[2], mask)
            .transpose(1, 2)
            .reshape({texts, longest, width});
    x = normalised(linear(attention, layer.output) + x, layer.attention_norm, weights.epsilon);
    x = normalised(linear(at::gelu(linear(x, layer.up)), layer.down) + x, layer.output_norm,
                   weights.epsilon);
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
