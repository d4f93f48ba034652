// Conv blocks in int8 with what float32 and whole numbers give of them, for tests.
#pragma once

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/int8/int8.hpp"

namespace harness::kernels {

struct Int8Case {
  std::string name{};
  bool norm = false;  ///< in place of a bias
  std::int64_t batch = 1, in = 8, out = 8, height = 7, width = 7;
  std::int64_t kernel = 3, stride = 1, groups = 1;
  bool signed_input = false;  ///< zero is an integer above 0, so padding is no 0
  bool relu = false;
  double ceiling = kNoCeiling;
  bool residual = false;
};

inline std::vector<Int8Case> int8_cases() {
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
      {.name = "norm", .norm = true, .in = 16, .out = 24, .signed_input = true, .relu = true},
      {.name = "residual and ReLU",
       .in = 12,
       .out = 21,
       .stride = 2,
       .relu = true,
       .residual = true},
  };
}

inline at::Tensor last(const at::Tensor& maps) {
  return maps.contiguous(at::MemoryFormat::ChannelsLast);
}

/// With tensors of its shapes, and the ranges that float32 gives it.
struct Int8Block {
  explicit Int8Block(const Int8Case& c) {
    at::manual_seed(23);
    const at::Tensor maps = at::randn({c.batch, c.in, c.height, c.width});
    arguments.input = last(c.signed_input ? maps : maps.abs());
    const std::int64_t fan_in = c.in / c.groups * c.kernel * c.kernel;
    arguments.weight = at::randn({c.out, c.in / c.groups, c.kernel, c.kernel}) /
                       std::sqrt(static_cast<double>(fan_in));
    if (c.norm) {
      norm = {at::rand({c.out}) + 0.5, at::randn({c.out}), at::randn({c.out}) * 0.1,
              at::rand({c.out}) + 0.5};
      arguments.norm = &norm;
    } else {
      arguments.bias = at::randn({c.out}) * 0.5;
    }
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

  Int8Block(const Int8Block&) = delete;  // the arguments point into it
  Int8Block& operator=(const Int8Block&) = delete;

  FrozenBatchNorm norm{};
  ConvBlockArguments arguments{};
  LayerRanges ranges{};
  at::Tensor exact{};  ///< in float32
};

/// Sums of whole numbers in double precision, which are exact, and what stands behind them.
inline at::Tensor in_whole_numbers(const Int8Block& block) {
  const ConvBlockArguments& a = block.arguments;
  const Affine affine = affine_of(block.ranges.input);
  at::Tensor scale;
  at::Tensor bias = a.bias.value_or(at::Tensor());
  if (a.norm != nullptr) {
    scale = a.norm->weight / at::sqrt(a.norm->running_var + a.norm->eps);
    bias = a.norm->bias - a.norm->running_mean * scale;
  }
  const Int8Weights weights = int8_weights({a.weight, scale});
  const at::Tensor integers =
      quantised(a.input, affine).int_repr().to(at::kDouble) - static_cast<double>(affine.zero);
  const at::Tensor sums =
      at::conv2d(integers, weights.values.to(at::kDouble), {}, {a.stride, a.stride},
                 {a.padding, a.padding}, {1, 1}, a.groups);
  at::Tensor out =
      sums *
          (weights.scales.to(at::kDouble) * static_cast<double>(affine.scale)).view({1, -1, 1, 1}) +
      bias.to(at::kDouble).view({1, -1, 1, 1});
  if (a.residual) out = out + as_floats(*a.residual).to(at::kDouble);
  return a.relu ? at::clamp(out, 0, a.ceiling) : out;
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace harness::kernels
