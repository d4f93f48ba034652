// `encoder`: the custom implementation against the reference in double precision, for texts of many
// lengths, one by one and together.
#include "kernels/encoder/encoder.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels/products/products.hpp"
#include "kernels/runtime/autocast.hpp"
#include "kernels/runtime/threads.hpp"

namespace kernels = harness::kernels;

namespace {

constexpr std::int64_t kVocabulary = 50;
constexpr std::int64_t kLongest = 96;

kernels::EncoderLinear linear(std::int64_t in, std::int64_t out) {
  return {at::randn({out, in}) / std::sqrt(static_cast<double>(in)), at::randn({out}) * 0.1};
}

kernels::EncoderNorm norm(std::int64_t width) {
  return {1 + 0.2 * at::randn({width}), 0.1 * at::randn({width})};
}

kernels::EncoderWeights model(std::int64_t width, std::int64_t heads, std::int64_t layers) {
  at::manual_seed(5);
  kernels::EncoderWeights weights{.words = at::randn({kVocabulary, width}),
                                  .positions = at::randn({kLongest, width}),
                                  .norm = norm(width),
                                  .heads = heads};
  for (std::int64_t i = 0; i < layers; ++i) {
    weights.layers.push_back({linear(width, 3 * width), linear(width, width), norm(width),
                              linear(width, 4 * width), linear(4 * width, width), norm(width)});
  }
  return weights;
}

void to_double(at::Tensor& tensor) { tensor = tensor.to(at::kDouble); }

kernels::EncoderWeights in_double(kernels::EncoderWeights weights) {
  to_double(weights.words);
  to_double(weights.positions);
  const auto widen = [](auto& part) {
    to_double(part.weight);
    to_double(part.bias);
  };
  widen(weights.norm);
  for (kernels::EncoderLayer& layer : weights.layers) {
    widen(layer.query_key_value);
    widen(layer.output);
    widen(layer.attention_norm);
    widen(layer.up);
    widen(layer.down);
    widen(layer.output_norm);
  }
  return weights;
}

at::Tensor run(const char* implementation, const kernels::EncoderWeights& weights,
               const at::Tensor& tokens, const std::vector<std::int64_t>& lengths) {
  const c10::InferenceMode no_gradients;
  return kernels::encoder_operator().get(implementation)(
      {.weights = weights, .tokens = tokens, .lengths = lengths});
}

}  // namespace

TEST_CASE("encoder: texts one by one and together, against double precision", "[encoder]") {
  struct Size {
    std::int64_t width, heads;
  };
  for (const Size& size : {Size{48, 3}, Size{64, 2}, Size{35, 5}}) {
    const kernels::EncoderWeights weights = model(size.width, size.heads, 3);
    const kernels::EncoderWeights exact = in_double(weights);
    for (const std::vector<std::int64_t>& lengths :
         {std::vector<std::int64_t>{1}, {2}, {13}, {40}, {96}, {5, 1, 33, 17, 96, 2}}) {
      std::int64_t all = 0;
      for (const std::int64_t length : lengths) all += length;
      const at::Tensor tokens = at::randint(0, kVocabulary, {all}, at::kLong);
      std::vector<at::Tensor> rows;
      std::int64_t begin = 0;
      for (const std::int64_t length : lengths) {
        rows.push_back(run("reference", exact, tokens.narrow(0, begin, length), {length}));
        begin += length;
      }
      const at::Tensor expected = at::cat(rows);
      for (const char* implementation : {"reference", "custom"}) {
        INFO(implementation << ", width " << size.width << ", " << lengths.size() << " texts of "
                            << all << " tokens");
        const at::Tensor got = run(implementation, weights, tokens, lengths);
        REQUIRE(got.sizes() == expected.sizes());
        CHECK((got - expected).abs().max().item<double>() < 5e-6);
      }
    }
  }
}

TEST_CASE("encoder: one text's numbers do not depend on those beside it, nor on threads",
          "[encoder]") {
  const bool narrow = GENERATE(false, true);
  if (narrow && !kernels::has_narrow_products()) return;
  const kernels::AutocastScope autocast(narrow);
  const kernels::EncoderWeights weights = model(64, 4, 2);
  const at::Tensor tokens = at::randint(0, kVocabulary, {60}, at::kLong);
  const int before = kernels::threads();
  kernels::set_threads(1);
  const at::Tensor alone = run("custom", weights, tokens.narrow(0, 20, 25), {25});
  kernels::set_threads(2);
  const at::Tensor together = run("custom", weights, tokens, {20, 25, 15});
  kernels::set_threads(before);
  CHECK(at::equal(alone[0], together[1]));
}

TEST_CASE("encoder in bf16: no further from double precision than eager bf16", "[encoder]") {
  for (const std::int64_t width : {48, 64, 160}) {
    const kernels::EncoderWeights weights = model(width, width / 16, 3);
    const kernels::EncoderWeights exact = in_double(weights);
    for (const std::vector<std::int64_t>& lengths :
         {std::vector<std::int64_t>{1}, {13}, {96}, {5, 1, 33, 17, 96, 2}}) {
      std::int64_t all = 0;
      for (const std::int64_t length : lengths) all += length;
      const at::Tensor tokens = at::randint(0, kVocabulary, {all}, at::kLong);
      const at::Tensor expected = run("reference", exact, tokens, lengths);
      const auto error = [&](const char* implementation) {
        const kernels::AutocastScope narrow(true);
        const at::Tensor got = run(implementation, weights, tokens, lengths);
        return (got - expected).norm().item<double>() / expected.norm().item<double>();
      };
      INFO("width " << width << ", " << lengths.size() << " texts of " << all << " tokens");
      const double ours = error("custom");
      CHECK(ours < 1.05 * error("reference"));
      CHECK(ours < 8e-3);
      CHECK(ours > 1e-5);  // it is bf16
    }
  }
}

TEST_CASE("encoder=custom refuses what it cannot read", "[encoder]") {
  const kernels::EncoderWeights weights = model(32, 2, 1);
  const at::Tensor tokens = at::randint(0, kVocabulary, {10}, at::kLong);
  CHECK_THROWS_AS(run("custom", weights, tokens, {}), std::invalid_argument);
  CHECK_THROWS_AS(run("custom", weights, tokens, {9}), std::invalid_argument);
  CHECK_THROWS_AS(run("custom", weights, tokens, {10, 0}), std::invalid_argument);
  CHECK_THROWS_AS(run("custom", weights, at::zeros({97}, at::kLong), {97}), std::invalid_argument);
  CHECK_THROWS_AS(run("custom", weights, tokens + kVocabulary, {10}), std::invalid_argument);
}

TEST_CASE("encoder: a NaN in a word's vector reaches the texts that have it, and no others",
          "[encoder]") {
  const kernels::EncoderWeights weights = model(32, 2, 2);
  weights.words[7].fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor tokens = at::tensor({1, 2, 3, 7, 4, 5, 6}, at::kLong);
  const at::Tensor got = run("custom", weights, tokens, {3, 2, 2});
  CHECK(at::isfinite(got[0]).all().item<bool>());
  CHECK(at::isnan(got[1]).all().item<bool>());
  CHECK(at::isfinite(got[2]).all().item<bool>());
}
