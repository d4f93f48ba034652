// `encoder` on packed products: texts lie one behind the other without padding, weights are packed
// once, and bias, GELU and the sums around a layer are done while a product is in registers.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/convolution/product_weights.hpp"
#include "kernels/encoder/encoder.hpp"
#include "kernels/encoder/encoder_simd.hpp"
#include "kernels/products/products.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

using Int = std::int64_t;

// Rows of queries whose scores one thread holds at a time: three times what a product has in its
// registers, and with 512 keys they still fit in a level-2 cache.
constexpr Int kQueries = 39;

/// One text within the rows of all.
struct Text {
  Int begin = 0, length = 0;
};

class Pass {
 public:
  explicit Pass(const EncoderArguments& arguments)
      : weights_(arguments.weights), width_(weights_.width()) {
    Int begin = 0;
    for (const Int length : arguments.lengths) {
      texts_.push_back({begin, length});
      begin += length;
    }
    tokens_ = begin;
    x_ = at::empty({tokens_, width_});
    sums_ = at::empty({tokens_, width_});
  }

  at::Tensor run(const at::Tensor& tokens) {
    embed(tokens);
    for (const EncoderLayer& layer : weights_.layers) {
      const at::Tensor heads = product(x_, layer.query_key_value);
      const at::Tensor attended = attention(heads);
      product_into(attended, layer.output, sums_, {.residual = data(x_), .residual_row = width_});
      normalise(layer.attention_norm);
      const at::Tensor wide = product(x_, layer.up, Activation::kGelu);
      product_into(wide, layer.down, sums_, {.residual = data(x_), .residual_row = width_});
      normalise(layer.output_norm);
    }
    return means();
  }

 private:
  static const float* data(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

  void embed(const at::Tensor& tokens) {
    const Int* const ids = tokens.const_data_ptr<Int>();
    const float* const words = data(weights_.words);
    const float* const positions = data(weights_.positions);
    float* const to = sums_.mutable_data_ptr<float>();
    for (const Text& text : texts_) {
      for (Int i = 0; i < text.length; ++i) {
        const Int row = text.begin + i;
        std::copy_n(words + ids[row] * width_, width_, to + row * width_);
        encoder::rows().add(positions + i * width_, width_, to + row * width_);
      }
    }
    normalise(weights_.norm);
  }

  /// From sums_ into x_.
  void normalise(const EncoderNorm& norm) {
    const float* const from = data(sums_);
    const float* const weight = data(norm.weight);
    const float* const bias = data(norm.bias);
    float* const to = x_.mutable_data_ptr<float>();
    const auto epsilon = static_cast<float>(weights_.epsilon);
    const auto normalise_row = encoder::rows().normalise;
#pragma omp parallel for schedule(static) if (tokens_ * width_ > 16384)
    for (Int row = 0; row < tokens_; ++row) {
      normalise_row(from + row * width_, width_, weight, bias, epsilon, to + row * width_);
    }
  }

  /// `behind` has what stands behind the product.
  void product_into(const at::Tensor& from, const EncoderLinear& layer, at::Tensor& to,
                    Product behind) {
    const at::Tensor weight = product_weights({layer.weight, {}});
    behind.rows = tokens_;
    behind.depth = layer.weight.size(1);
    behind.columns = layer.weight.size(0);
    behind.from = data(from);
    behind.from_row = behind.depth;
    behind.packed = data(weight);
    behind.bias = data(layer.bias);
    behind.to = to.mutable_data_ptr<float>();
    behind.to_row = behind.columns;
    multiply(behind);
  }

  at::Tensor product(const at::Tensor& from, const EncoderLinear& layer,
                     Activation activation = Activation::kNone) {
    at::Tensor to = at::empty({tokens_, layer.weight.size(0)});
    product_into(from, layer, to, {.activation = activation});
    return to;
  }

  /// (tokens, width) from queries, keys and values side by side.
  at::Tensor attention(const at::Tensor& heads) {
    at::Tensor attended = at::empty({tokens_, width_});
    float* const to = attended.mutable_data_ptr<float>();
    const float* const from = data(heads);
    const Int tasks = static_cast<Int>(texts_.size()) * weights_.heads;
#pragma omp parallel if (tokens_ > 8)
    {
      std::vector<float> scores;
#pragma omp for schedule(dynamic)
      for (Int task = 0; task < tasks; ++task) {
        const Text& text = texts_[static_cast<std::size_t>(task / weights_.heads)];
        attend(text, task % weights_.heads, from, to, scores);
      }
    }
    return attended;
  }

  void attend(const Text& text, Int head, const float* heads, float* to,
              std::vector<float>& memory) const {
    const Int deep = width_ / weights_.heads;
    const Int row = 3 * width_;
    const Int length = text.length;
    const float* const queries = heads + text.begin * row + head * deep;
    // Scores lie with room for whole cache lines.
    const Int line = (length + 15) / 16 * 16;
    const std::size_t keys_floats = packed_product_floats(deep, length);
    const std::size_t values_floats = packed_product_floats(length, deep);
    memory.resize(keys_floats + values_floats + static_cast<std::size_t>(kQueries * line) + 64);
    void* aligned = memory.data();
    std::size_t space = memory.size() * sizeof(float);
    float* const keys =
        static_cast<float*>(std::align(64, keys_floats * sizeof(float), aligned, space));
    float* const values = keys + (keys_floats + 15) / 16 * 16;
    float* const scores = values + (values_floats + 15) / 16 * 16;
    pack_product({queries + width_, deep, length, row, 1}, keys);
    pack_product({queries + 2 * width_, length, deep, 1, row}, values);
    const float scale = 1 / std::sqrt(static_cast<float>(deep));
    for (Int first = 0; first < length; first += kQueries) {
      const Int count = std::min(kQueries, length - first);
      multiply({.rows = count,
                .depth = deep,
                .columns = length,
                .from = queries + first * row,
                .from_row = row,
                .packed = keys,
                .to = scores,
                .to_row = line});
      for (Int i = 0; i < count; ++i) encoder::rows().softmax(scores + i * line, length, scale);
      multiply({.rows = count,
                .depth = length,
                .columns = deep,
                .from = scores,
                .from_row = line,
                .packed = values,
                .to = to + (text.begin + first) * width_ + head * deep,
                .to_row = width_});
    }
  }

  at::Tensor means() const {
    at::Tensor result = at::zeros({static_cast<Int>(texts_.size()), width_});
    float* to = result.mutable_data_ptr<float>();
    for (const Text& text : texts_) {
      for (Int i = 0; i < text.length; ++i) {
        encoder::rows().add(data(x_) + (text.begin + i) * width_, width_, to);
      }
      const auto length = static_cast<float>(text.length);
      for (Int c = 0; c < width_; ++c) to[c] /= length;
      to += width_;
    }
    return result;
  }

  const EncoderWeights& weights_;
  Int width_;
  Int tokens_ = 0;
  std::vector<Text> texts_{};
  at::Tensor x_{}, sums_{};
};

at::Tensor encoder_custom(const EncoderArguments& arguments) {
  const bool narrow = at::autocast::is_autocast_enabled(at::kCPU);
  if (narrow) return encoder_operator().get("reference")(arguments);
  const EncoderWeights& weights = arguments.weights;
  Int all = 0;
  for (const Int length : arguments.lengths) {
    require(length > 0 && length <= weights.positions.size(0),
            "encoder: a text has no token or too many");
    all += length;
  }
  require(all > 0 && arguments.tokens.numel() == all,
          "encoder: lengths are not those of the texts");
  const at::Tensor tokens = arguments.tokens.contiguous();
  require(tokens.min().item<Int>() >= 0 && tokens.max().item<Int>() < weights.words.size(0),
          "encoder: a token is not in the vocabulary");
  const KernelScope scope("encoder");
  return Pass(arguments).run(tokens);
}

}  // namespace

const Register<EncoderFn> registered_encoder_custom{
    encoder_operator(),
    {"custom", "Texts without padding, packed weights, all that follows a product within it.",
     encoder_custom}};

}  // namespace harness::kernels
