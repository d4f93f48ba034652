// int8 convolutions and linear layers: against whole numbers in double precision, and the
// primitives against the definition, for many shapes, ranges and threads.
#include "kernels/int8/int8.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/conv_chain/conv_chain.hpp"
#include "kernels/runtime/threads.hpp"

using namespace harness::kernels;  // NOLINT(google-build-using-namespace)

namespace {

struct Case {
  std::string name{};
  std::int64_t batch = 1, in = 8, out = 8, height = 7, width = 7;
  std::int64_t kernel = 3, stride = 1, groups = 1;
  bool signed_input = false;  ///< zero is an integer above 0, so padding is no 0
  bool relu = false;
  double ceiling = kNoCeiling;
  bool residual = false;
};

std::vector<Case> cases() {
  return {
      {.name = "3x3", .relu = true},
      {.name = "3x3, padded by a zero point", .signed_input = true},
      {.name = "1x1, odd channels", .batch = 3, .in = 5, .out = 33, .height = 5, .kernel = 1},
      {.name = "1x1 map", .in = 17, .out = 20, .height = 1, .width = 1, .signed_input = true},
      {.name = "stem",
       .in = 3,
       .out = 32,
       .height = 31,
       .width = 29,
       .stride = 2,
       .signed_input = true,
       .relu = true,
       .ceiling = 6},
      {.name = "7x7 of stride 2",
       .in = 3,
       .out = 24,
       .height = 23,
       .width = 20,
       .kernel = 7,
       .stride = 2,
       .signed_input = true},
      {.name = "depthwise", .in = 35, .out = 35, .groups = 35, .relu = true, .ceiling = 6},
      {.name = "depthwise of stride 2",
       .batch = 2,
       .in = 16,
       .out = 16,
       .height = 9,
       .stride = 2,
       .groups = 16,
       .signed_input = true,
       .relu = true},
      {.name = "grouped", .in = 24, .out = 48, .groups = 4, .signed_input = true, .relu = true},
      {.name = "residual",
       .batch = 2,
       .in = 40,
       .out = 40,
       .kernel = 1,
       .signed_input = true,
       .residual = true},
      {.name = "residual and ReLU",
       .in = 12,
       .out = 21,
       .stride = 2,
       .relu = true,
       .residual = true},
  };
}

at::Tensor last(const at::Tensor& maps) { return maps.contiguous(at::MemoryFormat::ChannelsLast); }

/// With tensors of its shapes, and the ranges that float32 gives it.
struct Block {
  explicit Block(const Case& c) {
    at::manual_seed(23);
    const at::Tensor maps = at::randn({c.batch, c.in, c.height, c.width});
    arguments.input = last(c.signed_input ? maps : maps.abs());
    const std::int64_t fan_in = c.in / c.groups * c.kernel * c.kernel;
    arguments.weight = at::randn({c.out, c.in / c.groups, c.kernel, c.kernel}) /
                       std::sqrt(static_cast<double>(fan_in));
    arguments.bias = at::randn({c.out}) * 0.5;
    arguments.stride = c.stride;
    arguments.padding = (c.kernel - 1) / 2;
    arguments.groups = c.groups;
    arguments.relu = c.relu;
    arguments.ceiling = c.ceiling;
    if (c.residual) {
      const auto out = [&](std::int64_t side) {
        return (side + 2 * arguments.padding - c.kernel) / c.stride + 1;
      };
      arguments.residual = last(at::randn({c.batch, c.out, out(c.height), out(c.width)}));
    }
    Int8Ranges measured;
    {
      const CalibrationScope calibration(measured);
      exact = conv_block_operator().get("reference")(arguments);
    }
    ranges = measured.of(arguments.weight);
  }

  ConvBlockArguments arguments{};
  LayerRanges ranges{};
  at::Tensor exact{};  ///< in float32
};

/// Sums of whole numbers in double precision, which are exact, and what stands behind them.
at::Tensor in_whole_numbers(const Block& block) {
  const ConvBlockArguments& a = block.arguments;
  const Affine affine = affine_of(block.ranges.input);
  const Int8Weights weights = int8_weights({a.weight, {}});
  const at::Tensor integers =
      quantised(a.input, affine).int_repr().to(at::kDouble) - static_cast<double>(affine.zero);
  const at::Tensor sums =
      at::conv2d(integers, weights.values.to(at::kDouble), {}, {a.stride, a.stride},
                 {a.padding, a.padding}, {1, 1}, a.groups);
  at::Tensor out =
      sums *
          (weights.scales.to(at::kDouble) * static_cast<double>(affine.scale)).view({1, -1, 1, 1}) +
      a.bias->to(at::kDouble).view({1, -1, 1, 1});
  if (a.residual) out = out + as_floats(*a.residual).to(at::kDouble);
  return a.relu ? at::clamp(out, 0, a.ceiling) : out;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace

TEST_CASE("int8: an affine scale covers its range, 0 exactly", "[int8]") {
  const auto ends = [](const Range& range) {
    const Affine affine = affine_of(range);
    CHECK(affine.zero >= 0);
    CHECK(affine.zero <= 255);
    const double low = static_cast<double>(affine.scale) * (0 - affine.zero);
    const double high = static_cast<double>(affine.scale) * (255 - affine.zero);
    const double half = 0.5001 * static_cast<double>(affine.scale);
    CHECK(low <= static_cast<double>(range.low) + half);
    CHECK(high >= static_cast<double>(range.high) - half);
  };
  for (const Range& range : {Range{0, 6}, Range{-3, 0}, Range{-1.5F, 4}, Range{-1e-20F, 1e-20F},
                             Range{-1e30F, 1e-3F}, Range{-0.1F, 1e20F}}) {
    ends(range);
  }
  CHECK(affine_of(Range{0, 0}) == Affine{});
  CHECK(affine_of(Range{0, 255}) == Affine{1, 0});
  CHECK(affine_of(Range{-255, 0}) == Affine{1, 255});
  const float infinity = std::numeric_limits<float>::infinity();
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const Range& range : {Range{1, 2}, Range{-2, -1}, Range{0, infinity}, Range{-infinity, 0},
                             Range{0, none}, Range{none, 1}}) {
    CHECK_THROWS_AS(affine_of(range), std::invalid_argument);
  }
}

TEST_CASE("int8: weights lie within half a step, a scale a channel", "[int8]") {
  at::manual_seed(3);
  at::Tensor weight = at::randn({5, 3, 3, 3});
  weight[1].mul_(1e-6);
  weight[2].zero_();
  weight[3].mul_(1e30);
  const Int8Weights narrow = int8_weights({weight, {}});
  CHECK(narrow.values.scalar_type() == at::kChar);
  for (std::int64_t channel = 0; channel < 5; ++channel) {
    const double step = narrow.scales[channel].item<double>();
    CHECK(step > 0);
    const at::Tensor back = narrow.values[channel].to(at::kDouble) * step;
    CHECK(largest_difference(back, weight[channel]) <= 0.5001 * step);
  }
  const at::Tensor wide = narrow.values.to(at::kInt);
  CHECK(wide.abs().max().item<int>() <= kLargestWeight);
  if (adds_in_32_bits()) {
    CHECK(wide.abs().amax({1, 2, 3})[0].item<int>() == kLargestWeight);
  } else {
    const at::Tensor pair = wide.narrow(1, 0, 2);
    const at::Tensor most =
        at::maximum(pair.clamp_min(0).sum(1), pair.clamp_max(0).sum(1).neg()).amax({1, 2});
    CHECK(most.max().item<int>() <= kLargestPair);
    CHECK(most[0].item<int>() > kLargestPair / 2);
  }
  CHECK(narrow.values[2].abs().max().item<int>() == 0);

  const at::Tensor scale = at::full({5}, 2.0F);
  const Int8Weights doubled = int8_weights({weight, scale});
  CHECK(doubled.scales[0].item<float>() == 2 * narrow.scales[0].item<float>());
  weight.mul_(3);  // a changed parameter is packed anew
  CHECK(int8_weights({weight, {}}).scales[0].item<double>() ==
        Approx(3 * narrow.scales[0].item<double>()).epsilon(1e-6));
}

TEST_CASE("int8: conv-block adds whole numbers", "[int8]") {
  for (const Case& c : cases()) {
    INFO(c.name);
    const Block block(c);
    const at::Tensor expected = in_whole_numbers(block);
    const double size = expected.abs().max().item<double>();
    for (const bool defined : {true, false}) {
      INFO((defined ? "reference" : "oneDNN"));
      const at::Tensor found = defined ? int8_conv_block_reference(block.arguments, block.ranges)
                                       : int8_conv_block(block.arguments, block.ranges);
      CHECK(found.scalar_type() == at::kFloat);
      CHECK(largest_difference(found, expected) <= 2e-6 * size);
    }
    // Nine bits of a range that fits: the error is a few steps of the input's scale.
    const double error =
        (expected - block.exact).norm().item<double>() / block.exact.norm().item<double>();
    CHECK(error < 0.05);
    CHECK(error > 1e-5);  // it is no float32 in disguise
  }
}

TEST_CASE("int8: conv-block hands over in eight bits", "[int8]") {
  for (const Case& c : cases()) {
    INFO(c.name);
    Block block(c);
    block.arguments.narrow_output = true;
    const Affine affine = affine_of(block.ranges.output);
    const auto run = [&] {
      const at::Tensor expected = int8_conv_block_reference(block.arguments, block.ranges);
      const at::Tensor found = int8_conv_block(block.arguments, block.ranges);
      REQUIRE(found.scalar_type() == at::kQUInt8);
      CHECK(affine_of(found) == affine);
      CHECK(affine_of(expected) == affine);
      const at::Tensor apart =
          (found.int_repr().to(at::kInt) - expected.int_repr().to(at::kInt)).abs();
      CHECK(apart.max().item<int>() <= 1);  // at ties alone
      CHECK(apart.to(at::kFloat).mean().item<float>() < 0.01F);
    };
    run();
    block.arguments.input = quantised(block.arguments.input, affine_of(block.ranges.input));
    run();
    if (block.arguments.residual) {
      block.arguments.residual = quantised(*block.arguments.residual, {0.03F, 120});
      run();
      block.arguments.narrow_output = false;  // a quantised residual beside a float32 output
      CHECK(largest_difference(int8_conv_block(block.arguments, block.ranges),
                               in_whole_numbers(block)) < 1e-5);
    }
  }
}

TEST_CASE("int8: the largest operands do not overflow", "[int8]") {
  at::manual_seed(57);
  constexpr std::int64_t kDeep = 64;
  const LayerRanges ranges{{0, 255}, {0, 0}};
  const at::Tensor input = last(at::full({1, kDeep, 4, 4}, 255.0F));
  const at::Tensor rows = at::full({3, kDeep}, 255.0F);
  // All of one sign; of both, where only some neighbours add up.
  for (const double least : {1.0, -1.0}) {
    for (const std::int64_t kernel : {1, 3}) {
      const at::Tensor weight = at::randint(0, 2, {8, kDeep, kernel, kernel}).to(at::kFloat);
      weight.copy_(at::where(weight > 0, 1.0, least));
      const Int8Weights narrow = int8_weights({weight, {}});
      const at::Tensor expected =
          narrow.values.to(at::kDouble).sum({1, 2, 3}) * narrow.scales * 255;
      const at::Tensor found =
          int8_conv_block({.input = input, .weight = weight}, ranges).select(3, 0).select(2, 0)[0];
      CHECK(largest_difference(found, expected) < 1e-6 * 255 * 64 * 9);
    }
    for (const double sign : {1.0, -1.0}) {
      const at::Tensor matrix = at::randint(0, 2, {8, kDeep}).to(at::kFloat) * 2 - 1;
      if (least > 0) matrix.fill_(sign);
      const Int8Weights narrow = int8_weights({matrix, {}});
      const at::Tensor expected = narrow.values.to(at::kDouble).sum(1) * narrow.scales * 255;
      const at::Tensor found =
          int8_linear({.input = rows, .weight = matrix, .bias = at::zeros({8})}, ranges);
      CHECK(largest_difference(found[2], expected) < 1e-6 * 255 * 64);
    }
  }
}

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

TEST_CASE("int8: a changed weight or bias is seen", "[int8]") {
  const Block block({.name = ""});
  const auto of_kept = [&] { return int8_conv_block(block.arguments, block.ranges); };
  const auto anew = [&] { return int8_conv_block_reference(block.arguments, block.ranges); };
  const at::Tensor first = of_kept().clone();
  block.arguments.bias->add_(1);
  CHECK(largest_difference(of_kept(), first + 1) < 1e-5);
  block.arguments.weight.mul_(-2);
  CHECK(largest_difference(of_kept(), anew()) < 1e-5);
}

TEST_CASE("int8: the bits hang on neither threads nor neighbours", "[int8]") {
  const int before = threads();
  const Case c{.name = "",
               .batch = 5,
               .in = 24,
               .out = 48,
               .height = 15,
               .signed_input = true,
               .relu = true};
  Block block(c);
  set_threads(1);
  const at::Tensor all = int8_conv_block(block.arguments, block.ranges).clone();
  for (const int count : {2, 3, 4}) {
    set_threads(count);
    CHECK(at::equal(int8_conv_block(block.arguments, block.ranges), all));
  }
  const at::Tensor maps = block.arguments.input;
  for (std::int64_t i = 0; i < c.batch; ++i) {
    block.arguments.input = last(maps.narrow(0, i, 1));
    CHECK(at::equal(int8_conv_block(block.arguments, block.ranges), all.narrow(0, i, 1)));
  }
  set_threads(before);
}

TEST_CASE("int8: scopes say who computes how", "[int8]") {
  const c10::InferenceMode no_gradients;
  const Block block({.name = "", .relu = true});
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
