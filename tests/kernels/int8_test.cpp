// Linear layers in int8, who computes in it, and what stands on it: chains and encoders.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels/conv_chain/conv_chain.hpp"
#include "kernels/encoder/encoder.hpp"
#include "kernels/int8/int8.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/int8_blocks.hpp"

using namespace harness::kernels;  // NOLINT(google-build-using-namespace)

TEST_CASE("int8: linear layers add whole numbers", "[int8]") {
  at::manual_seed(31);
  struct Size {
    std::int64_t rows, in, out;
  };
  for (const Size& size : {Size{1, 8, 8}, Size{7, 33, 65}, Size{40, 384, 96}, Size{3, 1, 2}}) {
    for (const bool gelu : {false, true}) {
      for (const bool narrow : {false, true}) {
        Int8Linear layer{.input = at::randn({size.rows, size.in}),
                         .weight = at::randn({size.out, size.in}),
                         .bias = at::randn({size.out}),
                         .gelu = gelu,
                         .narrow_output = narrow};
        if (!narrow) layer.residual = at::randn({size.rows, size.out});
        const LayerRanges ranges{{-4, 4}, {-8, 40}};
        const at::Tensor expected = int8_linear_reference(layer, ranges);
        const at::Tensor found = int8_linear(layer, ranges);
        CHECK(found.scalar_type() == (narrow ? at::kQUInt8 : at::kFloat));
        const at::Tensor integers =
            quantised(layer.input, affine_of(ranges.input)).int_repr().to(at::kDouble) -
            static_cast<double>(affine_of(ranges.input).zero);
        const Int8Weights weights = int8_weights({layer.weight, {}});
        at::Tensor exact = integers.matmul(weights.values.to(at::kDouble).t()) *
                               (weights.scales.to(at::kDouble) *
                                static_cast<double>(affine_of(ranges.input).scale)) +
                           layer.bias.to(at::kDouble);
        if (gelu) exact = at::gelu(exact);
        if (layer.residual) exact = exact + *layer.residual;
        const double step = static_cast<double>(affine_of(ranges.output).scale);
        const double allowed = narrow ? 0.51 * step : 1e-5 * exact.abs().max().item<double>();
        const double zero = affine_of(ranges.output).zero;
        const at::Tensor within =
            narrow ? at::clamp(exact, -zero * step, (255 - zero) * step) : exact;
        CHECK(largest_difference(as_floats(expected), within) <= allowed);
        CHECK(largest_difference(as_floats(found), within) <= allowed);
      }
    }
  }
}

TEST_CASE("int8: scopes say who computes how", "[int8]") {
  const c10::InferenceMode no_gradients;
  const Int8Block block({.name = "", .relu = true});
  ConvBlockFn* const custom = conv_block_operator().get("custom");
  ConvBlockFn* const reference = conv_block_operator().get("reference");
  Int8Ranges ranges;
  {
    const CalibrationScope calibration(ranges);
    // Whoever is asked: ranges are the same for all implementations.
    CHECK(at::equal(custom(block.arguments), reference(block.arguments)));
  }
  CHECK(calibrated_now() == nullptr);
  CHECK(ranges.layers() == 1);
  CHECK(ranges.of(block.arguments.weight).output.low == 0);
  {
    const Int8Scope int8(&ranges);
    CHECK(at::equal(reference(block.arguments),
                    int8_conv_block_reference(block.arguments, block.ranges)));
    CHECK(at::equal(custom(block.arguments), int8_conv_block(block.arguments, block.ranges)));
    {
      const Int8Scope nothing(nullptr);
      CHECK(int8_now() == &ranges);
    }
    ConvBlockArguments unknown = block.arguments;
    unknown.weight = unknown.weight.clone();
    CHECK_THROWS_AS(custom(unknown), std::invalid_argument);
  }
  CHECK(int8_now() == nullptr);
  CHECK(at::equal(reference(block.arguments), block.exact));

  ConvBlockArguments broken = block.arguments;
  broken.input = block.arguments.input.clone();
  broken.input[0][0][0][0] = std::numeric_limits<float>::quiet_NaN();
  const CalibrationScope calibration(ranges);
  CHECK_THROWS_AS(custom(broken), std::invalid_argument);
}

TEST_CASE("int8: ranges as text tell models apart", "[int8]") {
  const at::Tensor first = at::ones({1});
  const at::Tensor second = at::ones({1});
  const auto text = [&](const at::Tensor& a, const at::Tensor& b, double high) {
    Int8Ranges ranges;
    ranges.hold(a, at::full({2}, -1.5), at::full({2}, high));
    ranges.hold(b, at::full({2}, 0.25), at::zeros({0}));
    return ranges.text();
  };
  CHECK(text(first, second, 3) ==
        "-0x1.8p+0 0x0p+0\n0x0p+0 0x1.8p+1\n0x0p+0 0x1p-2\n0x0p+0 0x0p+0\n");
  CHECK(text(first, second, 3) == text(second, first, 3));  // by their order, not by their places
  CHECK(text(first, second, 3) != text(first, second, 4));
}

TEST_CASE("int8: a chain hands over in eight bits between its layers", "[int8][conv-chain]") {
  const c10::InferenceMode no_gradients;
  at::manual_seed(41);
  const auto layer = [](std::int64_t in, std::int64_t out, std::int64_t kernel,
                        std::int64_t groups) {
    return ConvChainLayer{.weight = at::randn({out, in / groups, kernel, kernel}) * 0.3,
                          .bias = at::randn({out}) * 0.2,
                          .padding = (kernel - 1) / 2,
                          .groups = groups,
                          .relu = true,
                          .ceiling = 6};
  };
  std::vector<ConvChainLayer> layers{layer(3, 16, 3, 1), layer(16, 32, 1, 1), layer(32, 32, 3, 32),
                                     layer(32, 16, 1, 1)};
  layers.back().relu = false;
  layers.back().adds_input_of = 1;
  const at::Tensor maps = last(at::randn({2, 3, 12, 11}));
  for (const bool mean : {false, true}) {
    const ConvChainArguments arguments{.layers = layers, .mean = mean};
    Int8Ranges ranges;
    std::vector<at::Tensor> found;
    for (const char* name : {"reference", "blocks", "custom"}) {
      const auto chain = conv_chain_operator().get(name)(arguments);
      if (ranges.layers() == 0) {
        const CalibrationScope calibration(ranges);
        chain->forward(maps);
      }
      CHECK(ranges.layers() == layers.size());
      const at::Tensor exact = chain->forward(maps);
      const Int8Scope int8(&ranges);
      found.push_back(chain->forward(maps));
      const double error =
          (found.back() - exact).norm().item<double>() / exact.norm().item<double>();
      CHECK(error < 0.1);
      CHECK(error > 1e-4);
    }
    CHECK(at::equal(found[1], found[2]));
    CHECK((found[0] - found[1]).norm().item<double>() / found[0].norm().item<double>() < 0.02);
  }
}

TEST_CASE("int8: a prepared chain gives the bits of one block after another",
          "[int8][conv-chain]") {
  const c10::InferenceMode no_gradients;
  at::manual_seed(43);
  const auto layer = [](std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t groups,
                        bool relu) {
    return ConvChainLayer{.weight = at::randn({out, in / groups, kernel, kernel}) * 0.3,
                          .bias = at::randn({out}) * 0.2,
                          .padding = (kernel - 1) / 2,
                          .groups = groups,
                          .relu = relu};
  };
  // Maps of both signs are padded with their zero; a sum is the last to read what it adds, or is
  // not, or adds what its own layer takes.
  std::vector<ConvChainLayer> layers{layer(3, 16, 3, 1, false),  layer(16, 32, 1, 1, true),
                                     layer(32, 32, 3, 32, true), layer(32, 16, 1, 1, false),
                                     layer(16, 16, 3, 1, true),  layer(16, 16, 3, 1, false),
                                     layer(16, 16, 1, 1, true),  layer(16, 24, 1, 1, true)};
  layers[0].stride = 2;
  layers[3].adds_input_of = 1;
  layers[5].adds_input_of = 4;
  layers[6].adds_input_of = 6;
  const ConvChainArguments arguments{.layers = layers};
  const auto blocks = conv_chain_operator().get("blocks")(arguments);
  const auto custom = conv_chain_operator().get("custom")(arguments);
  const auto ranges_for = [&](double size) {
    Int8Ranges ranges;
    const CalibrationScope calibration(ranges);
    blocks->forward(last(at::randn({2, 3, 20, 17}) * size));
    return ranges;
  };
  const Int8Ranges small = ranges_for(0.5);
  const Int8Ranges large = ranges_for(2);
  const auto check = [&](const Int8Ranges& ranges, at::IntArrayRef sizes) {
    const at::Tensor maps = last(at::randn(sizes));
    const at::Tensor before = maps.clone();
    const Int8Scope int8(&ranges);
    const at::Tensor wanted = blocks->forward(maps);
    CHECK(at::equal(custom->forward(maps), wanted));
    CHECK(at::equal(custom->forward(maps), wanted));
    CHECK(at::equal(maps, before));
  };
  const int threads_before = threads();
  for (const int count : {1, 3}) {
    set_threads(count);
    check(small, {1, 3, 20, 17});
    check(large, {1, 3, 20, 17});
    check(small, {5, 3, 9, 11});
  }
  set_threads(threads_before);
  // More sizes than are kept, and the first once more.
  for (std::int64_t side = 5; side < 15; ++side) check(small, {1, 3, side, side});
  check(small, {1, 3, 5, 5});
  const Int8Ranges unknown;
  const Int8Scope int8(&unknown);
  CHECK_THROWS_WITH(custom->forward(at::randn({1, 3, 5, 5})), Catch::Contains("nobody measured"));
}

TEST_CASE("int8: an encoder's four products, attention and norms in float32", "[int8][encoder]") {
  const c10::InferenceMode no_gradients;
  at::manual_seed(61);
  constexpr std::int64_t kWidth = 32;
  const auto linear = [](std::int64_t in, std::int64_t out) {
    return EncoderLinear{at::randn({out, in}) / std::sqrt(static_cast<double>(in)),
                         at::randn({out}) * 0.1};
  };
  const auto norm = [] { return EncoderNorm{at::rand({kWidth}) + 0.5, at::randn({kWidth})}; };
  EncoderWeights weights{.words = at::randn({20, kWidth}),
                         .positions = at::randn({16, kWidth}),
                         .norm = norm(),
                         .heads = 4};
  for (int i = 0; i < 2; ++i) {
    weights.layers.push_back({linear(kWidth, 3 * kWidth), linear(kWidth, kWidth), norm(),
                              linear(kWidth, 4 * kWidth), linear(4 * kWidth, kWidth), norm()});
  }
  const std::vector<std::int64_t> lengths{5, 1, 9};
  const at::Tensor tokens = at::randint(0, 20, {15}, at::kLong);
  Int8Ranges ranges;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    const CalibrationScope calibration(ranges);
    encoder_operator().get("custom")(
        {.weights = weights, .tokens = tokens.narrow(0, begin, length), .lengths = {length}});
    begin += length;
  }
  CHECK(ranges.layers() == 8);
  const EncoderArguments all{.weights = weights, .tokens = tokens, .lengths = lengths};
  const at::Tensor exact = encoder_operator().get("reference")(all);
  const auto error = [](const at::Tensor& found, const at::Tensor& expected) {
    return (found - expected).norm().item<double>() / expected.norm().item<double>();
  };
  const Int8Scope int8(&ranges);
  const at::Tensor defined = encoder_operator().get("reference")(all);
  const at::Tensor found = encoder_operator().get("custom")(all);
  CHECK(error(defined, exact) < 0.1);
  CHECK(error(defined, exact) > 1e-4);
  CHECK(error(found, defined) < 0.01);
}
