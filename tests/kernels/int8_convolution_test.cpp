// int8 convolutions: against whole numbers in double precision, and the primitives against the
// definition, for many shapes, ranges and threads.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/int8/int8.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/int8_blocks.hpp"

using namespace harness::kernels;  // NOLINT(google-build-using-namespace)

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
  for (const Int8Case& c : int8_cases()) {
    INFO(c.name);
    const Int8Block block(c);
    const at::Tensor expected = in_whole_numbers(block);
    const double size = expected.abs().max().item<double>();
    for (const bool defined : {true, false}) {
      INFO((defined ? "reference" : "oneDNN"));
      const at::Tensor found = defined ? int8_conv_block_reference(block.arguments, block.ranges)
                                       : int8_conv_block(block.arguments, block.ranges);
      CHECK(found.scalar_type() == at::kFloat);
      CHECK(largest_difference(found, expected) <= 2e-6 * size);
    }
    // The error of rounding to 256 values, many of them in a sum.
    const double error =
        (expected - block.exact).norm().item<double>() / block.exact.norm().item<double>();
    CHECK(error < 0.05);
    CHECK(error > 1e-5);  // it is no float32 in disguise
  }
}

TEST_CASE("int8: conv-block hands over in eight bits", "[int8]") {
  for (const Int8Case& c : int8_cases()) {
    INFO(c.name);
    Int8Block block(c);
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
  const std::int64_t deep = GENERATE(64, 17, 3, 1);
  const LayerRanges ranges{{0, 255}, {0, 0}};
  const at::Tensor input = last(at::full({1, deep, 4, 4}, 255.0F));
  const at::Tensor rows = at::full({3, deep}, 255.0F);
  // All of one sign; of both, where only some neighbours add up.
  for (const double least : {1.0, -1.0}) {
    for (const std::int64_t kernel : {1, 3}) {
      const at::Tensor weight = at::randint(0, 2, {8, deep, kernel, kernel}).to(at::kFloat);
      weight.copy_(at::where(weight > 0, 1.0, least));
      const Int8Weights narrow = int8_weights({weight, {}});
      const at::Tensor expected =
          narrow.values.to(at::kDouble).sum({1, 2, 3}) * narrow.scales * 255;
      const at::Tensor found =
          int8_conv_block({.input = input, .weight = weight}, ranges).select(3, 0).select(2, 0)[0];
      CHECK(largest_difference(found, expected) < 1e-6 * 255 * 64 * 9);
    }
    // Depthwise, a channel each.
    const at::Tensor taps = at::where(at::rand({deep, 1, 3, 3}) > 0.5, 1.0, least).to(at::kFloat);
    const Int8Weights of_taps = int8_weights({taps, {}});
    const at::Tensor sums = of_taps.values.to(at::kDouble).sum({1, 2, 3}) * of_taps.scales * 255;
    const at::Tensor depthwise =
        int8_conv_block({.input = input, .weight = taps, .groups = deep}, ranges);
    CHECK(largest_difference(depthwise.select(3, 0).select(2, 0)[0], sums) < 1e-6 * 255 * 9);
    for (const double sign : {1.0, -1.0}) {
      const at::Tensor matrix = at::randint(0, 2, {8, deep}).to(at::kFloat) * 2 - 1;
      if (least > 0) matrix.fill_(sign);
      const Int8Weights narrow = int8_weights({matrix, {}});
      const at::Tensor expected = narrow.values.to(at::kDouble).sum(1) * narrow.scales * 255;
      const at::Tensor found =
          int8_linear({.input = rows, .weight = matrix, .bias = at::zeros({8})}, ranges);
      CHECK(largest_difference(found[2], expected) < 1e-6 * 255 * 64);
    }
  }
}

TEST_CASE("int8: a changed weight or bias is seen", "[int8]") {
  const Int8Block block({.name = ""});
  const auto of_kept = [&] { return int8_conv_block(block.arguments, block.ranges); };
  const auto anew = [&] { return int8_conv_block_reference(block.arguments, block.ranges); };
  const at::Tensor first = of_kept().clone();
  block.arguments.bias->add_(1);
  CHECK(largest_difference(of_kept(), first + 1) < 1e-5);
  block.arguments.weight.mul_(-2);
  CHECK(largest_difference(of_kept(), anew()) < 1e-5);

  Int8Block normed({.name = "", .norm = true});
  const auto difference = [&] {
    return largest_difference(int8_conv_block(normed.arguments, normed.ranges),
                              int8_conv_block_reference(normed.arguments, normed.ranges));
  };
  CHECK(difference() < 1e-5);
  normed.norm.weight.mul_(3);
  normed.norm.bias.add_(1);
  CHECK(difference() < 1e-4);

  Int8Linear layer{.input = at::randn({5, 6}), .weight = at::randn({4, 6}), .bias = at::zeros({4})};
  const LayerRanges ranges{{-4, 4}, {-9, 9}};
  const at::Tensor before = int8_linear(layer, ranges).clone();
  layer.bias.add_(2);
  CHECK(largest_difference(int8_linear(layer, ranges), before + 2) < 1e-5);
}

TEST_CASE("int8: what does not fit together is refused", "[int8]") {
  Int8Block block({.name = "", .residual = true});
  const at::Tensor residual = *block.arguments.residual;
  const auto refused = [&](const ConvBlockArguments& arguments) {
    CHECK_THROWS_AS(int8_conv_block(arguments, block.ranges), std::invalid_argument);
  };
  ConvBlockArguments wrong = block.arguments;
  wrong.narrow_output = true;
  wrong.residual = quantised(at::cat({residual, residual}), {0.1F, 3});
  refused(wrong);
  wrong.residual = residual.narrow(2, 0, 1);
  refused(wrong);
  wrong = block.arguments;
  wrong.bias = at::zeros({1});
  refused(wrong);
  wrong = block.arguments;
  wrong.input = block.arguments.input.narrow(0, 0, 0);
  refused(wrong);
  wrong.input = block.arguments.input.narrow(1, 0, 3);
  refused(wrong);

  const Int8Linear layer{
      .input = at::randn({5, 6}), .weight = at::randn({4, 6}), .bias = at::zeros({4})};
  const auto refused_linear = [&](const Int8Linear& arguments) {
    CHECK_THROWS_AS(int8_linear(arguments, block.ranges), std::invalid_argument);
  };
  Int8Linear other = layer;
  other.residual = at::zeros({4, 4});
  refused_linear(other);
  other.residual = at::zeros({5, 4});
  other.narrow_output = true;
  refused_linear(other);
  other = layer;
  other.input = at::randn({5, 7});
  refused_linear(other);
}

TEST_CASE("int8: the bits hang on neither threads nor neighbours", "[int8]") {
  const int before = threads();
  const Int8Case c{.name = "",
                   .batch = 5,
                   .in = 24,
                   .out = 48,
                   .height = 15,
                   .signed_input = true,
                   .relu = true};
  Int8Block block(c);
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
  // Rows that are there for a primitive's sake change nothing.
  Int8Linear layer{
      .input = at::randn({70, 33}), .weight = at::randn({20, 33}), .bias = at::randn({20})};
  const LayerRanges ranges{{-4, 4}, {-9, 9}};
  const at::Tensor rows = int8_linear(layer, ranges).clone();
  REQUIRE(rows.sizes() == at::IntArrayRef({70, 20}));
  const at::Tensor whole = layer.input;
  for (const std::int64_t count : {1, 7, 8, 9, 65}) {
    layer.input = whole.narrow(0, 0, count);
    CHECK(at::equal(int8_linear(layer, ranges), rows.narrow(0, 0, count)));
  }
  set_threads(before);
}
