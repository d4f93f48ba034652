// Conv blocks with made-up tensors, and how far an implementation is from double precision.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/conv_block/conv_block.hpp"
#include "kernels/runtime/autocast.hpp"

namespace harness::tests {

struct Case {
  std::string name{};
  int64_t batch = 1, in = 16, out = 16, height = 11, width = 7;
  int64_t kernel = 3, stride = 1, padding = 1, groups = 1;
  bool bias = false, norm = false, relu = false, residual = false;
  double ceiling = kernels::kNoCeiling;
};

struct Tensors {
  at::Tensor input{}, weight{};
  std::optional<at::Tensor> bias{}, residual{};
  std::optional<kernels::FrozenBatchNorm> norm{};
};

inline int64_t output_extent(int64_t extent, const Case& c) {
  return (extent + 2 * c.padding - c.kernel) / c.stride + 1;
}

// Values that bf16 holds exactly, so that a bf16 run errs by its arithmetic alone.
inline at::Tensor values(at::IntArrayRef shape) {
  return at::randn(shape).to(at::kBFloat16).to(at::kFloat);
}

inline Tensors make(const Case& c) {
  at::manual_seed(11);
  Tensors t;
  t.input = values({c.batch, c.in, c.height, c.width}).contiguous(at::MemoryFormat::ChannelsLast);
  t.weight = values({c.out, c.in / c.groups, c.kernel, c.kernel})
                 .contiguous(at::MemoryFormat::ChannelsLast);
  if (c.bias) t.bias = values({c.out});
  if (c.norm) {
    t.norm = {values({c.out}), values({c.out}), values({c.out}), values({c.out}).abs() + 0.5, 1e-5};
  }
  if (c.residual) {
    t.residual = values({c.batch, c.out, output_extent(c.height, c), output_extent(c.width, c)})
                     .contiguous(at::MemoryFormat::ChannelsLast);
  }
  return t;
}

inline Tensors as(const Tensors& from, at::ScalarType type) {
  Tensors to = from;
  const auto leaf = [type](const at::Tensor& tensor) {
    return tensor.detach().to(type, false, true).set_requires_grad(true);
  };
  to.input = leaf(from.input);
  to.weight = leaf(from.weight);
  if (from.bias) to.bias = leaf(*from.bias);
  if (from.residual) to.residual = leaf(*from.residual);
  if (from.norm) {
    to.norm = {from.norm->weight.to(type), from.norm->bias.to(type),
               from.norm->running_mean.to(type), from.norm->running_var.to(type), from.norm->eps};
  }
  return to;
}

inline at::Tensor run(const char* implementation, const Case& c, const Tensors& t) {
  return kernels::conv_block_operator().get(implementation)({.input = t.input,
                                                             .weight = t.weight,
                                                             .bias = t.bias,
                                                             .norm = t.norm ? &*t.norm : nullptr,
                                                             .stride = c.stride,
                                                             .padding = c.padding,
                                                             .groups = c.groups,
                                                             .relu = c.relu,
                                                             .ceiling = c.ceiling,
                                                             .residual = t.residual});
}

inline std::vector<at::Tensor> leaves(const Tensors& t) {
  std::vector<at::Tensor> all{t.input, t.weight};
  if (t.bias) all.push_back(*t.bias);
  if (t.residual) all.push_back(*t.residual);
  return all;
}

inline double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  const at::Tensor wanted = expected.to(at::kDouble);
  return (actual.to(at::kDouble) - wanted).norm().item<double>() /
         std::max(1e-30, wanted.norm().item<double>());
}

// Largest relative error (l2) of the output and of each gradient against double precision.
inline double worst_error(const char* implementation, const Case& c, bool bf16 = false) {
  const Tensors made = make(c);
  const Tensors exact = as(made, at::kDouble);
  const Tensors tried = as(made, at::kFloat);
  Case before_relu = c;
  before_relu.relu = false;
  const at::Tensor linear = run("reference", before_relu, exact);
  const at::Tensor expected = c.relu ? at::clamp(linear, 0, c.ceiling) : linear;
  at::Tensor actual;
  {
    const kernels::AutocastScope autocast(bf16);
    actual = run(implementation, c, tried);
  }
  at::Tensor upstream = values(expected.sizes()).contiguous(at::MemoryFormat::ChannelsLast);
  // Next to the ReLU's edge rounding decides whether a gradient comes through; none goes there.
  if (c.relu) upstream = upstream * (linear.abs() > (bf16 ? 0.5 : 1e-3));
  if (c.ceiling != kernels::kNoCeiling) upstream = upstream * ((linear - c.ceiling).abs() > 1e-3);
  const auto by_exact =
      torch::autograd::grad({expected}, leaves(exact), {upstream.to(at::kDouble)});
  const auto by_tried =
      torch::autograd::grad({actual}, leaves(tried), {upstream.to(actual.scalar_type())});
  double worst = relative_error(actual, expected);
  for (size_t i = 0; i < by_exact.size(); ++i) {
    worst = std::max(worst, relative_error(by_tried[i], by_exact[i]));
  }
  return worst;
}

}  // namespace harness::tests
