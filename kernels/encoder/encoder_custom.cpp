// `encoder` on packed products: texts lie one behind the other without padding, weights are packed
// once, and bias, GELU and the sums around a layer are done while a product is in registers. In
// bf16 the operands of the layers' products are rounded; sums, attention, norms and what is added
// to them stay in float32. In int8 the layers' products are those of int8/linear.cpp.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/convolution/product_weights.hpp"
#include "kernels/encoder/encoder.hpp"
#include "kernels/encoder/encoder_simd.hpp"
#include "kernels/int8/int8.hpp"
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
  Pass(const EncoderArguments& arguments, bool narrow)
      : weights_(arguments.weights), narrow_(narrow), width_(weights_.width()) {
    Int begin = 0;
    for (const Int length : arguments.lengths) {
      texts_.push_back({begin, length});
      begin += length;
    }
    tokens_ = begin;
    x_ = at::empty({tokens_, width_});
    sums_ = at::empty({tokens_, width_});
    rounded_ = narrow_ ? operand(width_) : x_;
  }

  at::Tensor run(const at::Tensor& tokens) {
    embed(tokens);
    const Int8Ranges* const int8 = int8_now();
    for (const EncoderLayer& layer : weights_.layers) {
      if (int8 != nullptr) {
        run_in_int8(layer, *int8);
      } else {
        run(layer);
      }
    }
    return means();
  }

 private:
  void run(const EncoderLayer& layer) {
    at::Tensor heads = at::empty({tokens_, 3 * width_});
    multiply_into(rounded_, layer.query_key_value, heads, {});
    const at::Tensor attended = attention(heads);
    multiply_into(attended, layer.output, sums_, {.residual = data(x_), .residual_row = width_});
    normalise(layer.attention_norm);
    at::Tensor wide = operand(layer.up.weight.size(0));
    multiply_into(rounded_, layer.up, wide, {.activation = Activation::kGelu});
    multiply_into(wide, layer.down, sums_, {.residual = data(x_), .residual_row = width_});
    normalise(layer.output_norm);
  }

  /// Its four products; attention and norms stay in float32.
  void run_in_int8(const EncoderLayer& layer, const Int8Ranges& ranges) {
    const auto product = [&](const EncoderLinear& linear, Int8Linear arguments) {
      arguments.weight = linear.weight;
      arguments.bias = linear.bias;
      return int8_linear(arguments, ranges.of(linear.weight));
    };
    const at::Tensor attended = attention(product(layer.query_key_value, {.input = x_}));
    sums_ = product(layer.output, {.input = attended, .residual = x_});
    normalise(layer.attention_norm);
    const at::Tensor wide = product(layer.up, {.input = x_, .gelu = true, .narrow_output = true});
    sums_ = product(layer.down, {.input = wide, .residual = x_});
    normalise(layer.output_norm);
  }

  static const float* data(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

  /// What a product of a layer reads.
  at::Tensor operand(Int columns) const {
    return at::empty({tokens_, columns}, narrow_ ? at::kBFloat16 : at::kFloat);
  }

  /// Where an operand's number of that index is written to.
  static void put_into(at::Tensor& to, Int place, Product& product) {
    if (to.scalar_type() == at::kBFloat16) {
      product.narrow_to = static_cast<Bf16*>(to.mutable_data_ptr()) + place;
    } else {
      product.to = to.mutable_data_ptr<float>() + place;
    }
  }

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

  /// From sums_ into x_ and rounded_.
  void normalise(const EncoderNorm& norm) {
    const float* const from = data(sums_);
    const float* const weight = data(norm.weight);
    const float* const bias = data(norm.bias);
    float* const to = x_.mutable_data_ptr<float>();
    Bf16* const rounded = narrow_ ? static_cast<Bf16*>(rounded_.mutable_data_ptr()) : nullptr;
    const auto epsilon = static_cast<float>(weights_.epsilon);
    const encoder::Rows& rows = encoder::rows();
#pragma omp parallel for schedule(static) if (tokens_ * width_ > 16384)
    for (Int row = 0; row < tokens_; ++row) {
      const Int place = row * width_;
      rows.normalise(from + place, width_, weight, bias, epsilon, to + place);
      if (rounded != nullptr) rows.round(to + place, width_, rounded + place);
    }
  }

  /// `behind` has what stands behind the product.
  void multiply_into(const at::Tensor& from, const EncoderLinear& layer, at::Tensor& to,
                     Product behind) {
    behind.rows = tokens_;
    behind.depth = layer.weight.size(1);
    behind.columns = layer.weight.size(0);
    behind.from_row = behind.depth;
    behind.bias = data(layer.bias);
    behind.to_row = behind.columns;
    put_into(to, 0, behind);
    at::Tensor packed;
    if (narrow_) {
      packed = narrow_product_weights({layer.weight, {}});
      behind.narrow_from = static_cast<const Bf16*>(from.const_data_ptr());
      behind.narrow_packed = static_cast<const Bf16*>(packed.const_data_ptr());
    } else {
      packed = product_weights({layer.weight, {}});
      behind.from = data(from);
      behind.packed = data(packed);
    }
    const KernelScope scope("encoder.product", [&] { return facts(behind); });
    multiply(behind);
  }

  KernelFacts facts(const Product& product) const {
    const auto number = [](Int value) { return std::to_string(value); };
    const Int read = product.depth * (product.rows + product.columns);
    const Int written = product.rows * product.columns;
    const Int width = narrow_ ? 2 : 4;
    return {.kind = "matmul",
            .implementation = narrow_ ? narrow_product_name() : product_name(),
            .direction = "forward_inference",
            .type = narrow_ ? "bf16" : "f32",
            .problem = number(product.rows) + "x" + number(product.depth) + ":" +
                       number(product.depth) + "x" + number(product.columns),
            .flops = 2 * static_cast<double>(written * product.depth),
            .bytes = static_cast<double>(width * read +
                                         (product.narrow_to != nullptr ? 2 : 4) * written)};
  }

  /// (tokens, width), an operand, from queries, keys and values side by side.
  at::Tensor attention(const at::Tensor& heads) {
    at::Tensor attended = operand(width_);
    const float* const from = data(heads);
    const KernelScope scope("encoder.attention");
    const Int tasks = static_cast<Int>(texts_.size()) * weights_.heads;
#pragma omp parallel if (tokens_ > 8)
    {
      std::vector<float> scores;
#pragma omp for schedule(dynamic)
      for (Int task = 0; task < tasks; ++task) {
        const Text& text = texts_[static_cast<std::size_t>(task / weights_.heads)];
        attend(text, task % weights_.heads, from, attended, scores);
      }
    }
    return attended;
  }

  void attend(const Text& text, Int head, const float* heads, at::Tensor& to,
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
      Product sums = {.rows = count,
                      .depth = length,
                      .columns = deep,
                      .from = scores,
                      .from_row = line,
                      .packed = values,
                      .to_row = width_};
      put_into(to, (text.begin + first) * width_ + head * deep, sums);
      multiply(sums);
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
  bool narrow_;
  Int width_;
  Int tokens_ = 0;
  std::vector<Text> texts_{};
  at::Tensor x_{}, sums_{};
  at::Tensor rounded_{};  ///< x_ as the products read it
};

/// Pairs of bf16 are multiplied.
bool has_even_depths(const EncoderWeights& weights) {
  const auto even = [](const EncoderLinear& layer) { return layer.weight.size(1) % 2 == 0; };
  return std::all_of(weights.layers.begin(), weights.layers.end(), [&](const EncoderLayer& layer) {
    return even(layer.query_key_value) && even(layer.output) && even(layer.up) && even(layer.down);
  });
}

at::Tensor encoder_custom(const EncoderArguments& arguments) {
  const bool narrow = at::autocast::is_autocast_enabled(at::kCPU);
  if (calibrated_now() != nullptr) return encoder_operator().get("reference")(arguments);
  if (narrow && !(has_narrow_products() && has_even_depths(arguments.weights))) {
    return encoder_operator().get("reference")(arguments);
  }
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
  return Pass(arguments, narrow).run(tokens);
}

}  // namespace

const Register<EncoderFn> registered_encoder_custom{
    encoder_operator(),
    {"custom", "Texts without padding, packed weights, all that follows a product within it.",
     encoder_custom}};

}  // namespace harness::kernels
