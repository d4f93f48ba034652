// `conv-block` implementations against double precision: values and all gradients.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/conv_block/block.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/convolution/tuning.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/autocast.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/conv_block_tensors.hpp"

using namespace harness::tests;  // NOLINT(google-build-using-namespace)
namespace kernels = harness::kernels;

namespace {

std::vector<Case> cases() {
  return {
      {.name = "plain"},
      {.name = "stem",
       .batch = 2,
       .in = 3,
       .out = 64,
       .height = 33,
       .width = 31,
       .kernel = 7,
       .stride = 2,
       .padding = 3,
       .norm = true,
       .relu = true},
      {.name = "pointwise",
       .in = 64,
       .out = 24,
       .kernel = 1,
       .padding = 0,
       .norm = true,
       .relu = true},
      {.name = "pointwise, stride 2, bias",
       .batch = 3,
       .in = 20,
       .out = 37,
       .height = 13,
       .width = 9,
       .kernel = 1,
       .stride = 2,
       .padding = 0,
       .bias = true,
       .relu = true},
      {.name = "pointwise, stride 2",
       .in = 32,
       .out = 64,
       .kernel = 1,
       .stride = 2,
       .padding = 0,
       .norm = true},
      {.name = "residual",
       .batch = 2,
       .in = 24,
       .out = 40,
       .kernel = 1,
       .padding = 0,
       .norm = true,
       .relu = true,
       .residual = true},
      {.name = "residual without norm", .in = 16, .out = 32, .bias = true, .residual = true},
      {.name = "4 a group", .in = 128, .out = 128, .groups = 32, .norm = true, .relu = true},
      {.name = "8 a group",
       .batch = 2,
       .in = 256,
       .out = 256,
       .groups = 32,
       .norm = true,
       .relu = true},
      {.name = "8 a group, stride 2",
       .in = 256,
       .out = 256,
       .height = 10,
       .stride = 2,
       .groups = 32,
       .norm = true,
       .relu = true},
      {.name = "16 a group", .in = 512, .out = 512, .groups = 32, .norm = true, .relu = true},
      {.name = "16 a group, stride 2",
       .in = 512,
       .out = 512,
       .stride = 2,
       .groups = 32,
       .norm = true,
       .relu = true},
      {.name = "32 a group",
       .in = 1024,
       .out = 1024,
       .height = 5,
       .width = 5,
       .groups = 32,
       .norm = true,
       .relu = true},
      {.name = "tower", .in = 256, .out = 256, .bias = true, .relu = true},
      {.name = "logits, odd width", .in = 256, .out = 99, .bias = true},
      {.name = "one by one map", .in = 32, .out = 32, .height = 1, .width = 1, .bias = true},
      {.name = "few positions",
       .batch = 2,
       .in = 24,
       .out = 136,
       .height = 5,
       .width = 6,
       .bias = true,
       .relu = true},
      {.name = "few positions, stride 2, kernel 5",
       .in = 12,
       .out = 130,
       .height = 12,
       .width = 9,
       .kernel = 5,
       .stride = 2,
       .padding = 2,
       .norm = true,
       .relu = true,
       .residual = true},
      {.name = "odd channels", .in = 5, .out = 7, .bias = true, .relu = true},
      {.name = "bias and norm", .in = 8, .out = 8, .bias = true, .norm = true},
  };
}

kernels::ConvolutionShape shape_of(const Case& c) {
  return {.batch = c.batch,
          .in_channels = c.in,
          .in_height = c.height,
          .in_width = c.width,
          .out_channels = c.out,
          .kernel_height = c.kernel,
          .kernel_width = c.kernel,
          .stride = c.stride,
          .padding = c.padding,
          .groups = c.groups,
          .bias = c.bias || c.norm,
          .bias_gradient = c.bias,
          .relu = c.relu,
          .residual = c.residual,
          .threads = kernels::threads()};
}

}  // namespace

TEST_CASE("conv-block: values and gradients against double precision", "[conv-block]") {
  for (const Case& c : cases()) {
    for (const char* implementation : {"reference", "custom", "direct", "winograd"}) {
      INFO(c.name << ", " << implementation);
      CHECK(worst_error(implementation, c) < 1e-5);
    }
  }
}

TEST_CASE("conv-block in bf16 errs no more than eager bf16 does", "[conv-block]") {
  for (const Case& c : cases()) {
    const double reference = worst_error("reference", c, true);
    CHECK(reference < 0.02);
    for (const char* implementation : {"custom", "direct", "winograd"}) {
      const double error = worst_error(implementation, c, true);
      INFO(c.name << ": reference " << reference << ", " << implementation << ' ' << error);
      CHECK(error < std::max(0.008, 1.5 * reference));
    }
  }
}

TEST_CASE("conv-block=custom takes the kernel that a table names, and each is exact",
          "[conv-block]") {
  using kernels::ConvolutionPass;
  const at::ScalarType type = GENERATE(at::kFloat, at::kBFloat16);
  const bool bf16 = type == at::kBFloat16;
  for (const Case& c : cases()) {
    if (c.bias && c.norm) continue;  // the reference's
    kernels::ConvolutionShape shape = shape_of(c);
    shape.type = type;
    // Not every machine has bf16.
    if (!kernels::Convolution::find(shape, kernels::ConvolutionAlgorithm::kDirect)) continue;
    for (const ConvolutionPass pass :
         {ConvolutionPass::kForward, ConvolutionPass::kData, ConvolutionPass::kWeights}) {
      for (const std::string& kernel : kernels::convolution_candidates(shape, pass)) {
        kernels::use_tuning({{problem_of(shape), type, pass, shape.threads, kernel}});
        INFO(c.name << ", " << kernel << " in pass " << static_cast<int>(pass));
        CHECK(worst_error("custom", c, bf16) < (bf16 ? 0.02 : 2e-5));
        const auto ran = kernels::convolutions_run();
        CHECK(std::any_of(ran.begin(), ran.end(), [&](const auto& one) {
          const kernels::ConvolutionChoice& choice = one.first;
          return choice.problem == problem_of(shape) && choice.type == type &&
                 choice.pass == pass && choice.kernel == kernel;
        }));
      }
    }
  }
  CHECK_THROWS_WITH(kernels::use_tuning({{"", at::kFloat, ConvolutionPass::kForward, 1, "fft"}}),
                    Catch::Contains("'fft'"));
  CHECK_THROWS_WITH(
      kernels::use_tuning({{"", at::kFloat, ConvolutionPass::kForward, 1, "winograd-4x4"}}),
      Catch::Contains("not exact enough"));
  kernels::use_tuning({});
}

TEST_CASE("conv-block takes any memory layout", "[conv-block]") {
  const char* const implementation = GENERATE("custom", "winograd");
  const Case c{.name = "", .in = 24, .out = 16, .bias = true, .relu = true};
  Tensors t = make(c);
  const at::Tensor expected = run(implementation, c, t);
  t.input = t.input.contiguous();
  CHECK(at::equal(run(implementation, c, t), expected));
  t.input = at::cat({t.input, t.input}, 3).slice(3, 0, t.input.size(3));
  t.weight = t.weight.contiguous();
  CHECK(at::equal(run(implementation, c, t), expected));
}

TEST_CASE("conv-block notices that a parameter or a norm has changed", "[conv-block]") {
  const char* const implementation = GENERATE("custom", "winograd");
  const Case c{.name = "", .norm = true};
  Tensors t = make(c);
  const at::Tensor before = run(implementation, c, t);
  CHECK(at::equal(run(implementation, c, t), before));
  t.weight.mul_(2);
  const at::Tensor after_weight = run(implementation, c, t);
  CHECK_THAT(relative_error(after_weight, run("reference", c, t)), Catch::WithinAbs(0, 1e-6));
  t.norm->running_var.mul_(3);
  CHECK_THAT(relative_error(run(implementation, c, t), run("reference", c, t)),
             Catch::WithinAbs(0, 1e-6));
  CHECK(relative_error(after_weight, before) > 0.1);
}

TEST_CASE("conv-block=winograd is direct where transformed weights leave float's range",
          "[conv-block]") {
  const Case c{.name = "", .bias = true, .relu = true};
  Tensors made = make(c);
  made.input = made.input * 1e-3;
  // Signs that alternate from pixel to pixel, which is where the point -1/2 looks.
  const at::Tensor sign = 1 - 2 * (at::arange(9) % 2).reshape({3, 3});
  made.weight.select(0, 3).copy_(2.5e38 * sign);
  std::vector<at::Tensor> results;
  for (const char* implementation : {"direct", "winograd"}) {
    const Tensors t = as(made, at::kFloat);
    const at::Tensor output = run(implementation, c, t);
    const at::Tensor upstream = at::full_like(output, 1e-3);
    const auto gradients = torch::autograd::grad({output}, {t.input}, {upstream});
    CHECK(at::isfinite(output).all().item<bool>());
    CHECK(at::isfinite(gradients[0]).all().item<bool>());
    results.push_back(output);
    results.push_back(gradients[0]);
  }
  CHECK(at::equal(results[0], results[2]));
  CHECK(at::equal(results[1], results[3]));
}

TEST_CASE("conv-block=custom gives back the same bits, and the gradients asked for",
          "[conv-block]") {
  const Case c{.name = "", .in = 256, .out = 256, .groups = 32, .norm = true, .relu = true};
  const Tensors t = as(make(c), at::kFloat);
  const at::Tensor output = run("custom", c, t);
  const at::Tensor upstream = at::ones_like(output);
  const auto both = torch::autograd::grad({output}, {t.input, t.weight}, {upstream}, true);
  CHECK(at::equal(upstream, at::ones_like(output)));  // nobody wrote into the caller's gradient
  const auto only = torch::autograd::grad({output}, {t.input}, {upstream}, true);
  CHECK(at::equal(both[0], only[0]));
  const auto other = torch::autograd::grad({output}, {t.weight}, {upstream}, true);
  CHECK(at::equal(both[1], other[0]));
  CHECK(both[1].is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK_THROWS_WITH(torch::autograd::grad({output}, {t.input}, {upstream}, true, true),
                    Catch::Contains("second derivative"));
}

TEST_CASE("a frozen conv-block keeps nothing for a backward pass", "[conv-block]") {
  const char* const implementation = GENERATE("custom", "winograd");
  kernels::use_allocator("pooled");
  const Case c{
      .name = "", .in = 64, .out = 64, .height = 64, .width = 64, .norm = true, .relu = true};
  const Tensors t = make(c);
  (void)run(implementation, c, t);  // weights are prepared now
  const auto before = kernels::memory_counters().current_bytes;
  const at::Tensor output = run(implementation, c, t);
  CHECK_FALSE(output.requires_grad());
  CHECK(kernels::memory_counters().current_bytes - before <=
        static_cast<int64_t>(output.nbytes()) + 4096);
  kernels::use_allocator("system");
}

TEST_CASE("conv-block=custom refuses shapes that make no sense", "[conv-block]") {
  Case c{.name = "", .in = 16, .out = 16};
  Tensors t = make(c);
  c.groups = 3;
  CHECK_THROWS_AS(run("custom", c, t), std::invalid_argument);
  c.groups = 1;
  c.kernel = 3;
  t.input = t.input.slice(2, 0, 1).slice(3, 0, 1);
  c.padding = 0;
  CHECK_THROWS_AS(run("custom", c, t), std::invalid_argument);
  c.padding = 1;
  t.residual = at::zeros({1, 16, 5, 5});
  CHECK_THROWS_AS(run("custom", c, t), std::invalid_argument);
  t.residual.reset();
  t.bias = at::zeros({4});
  CHECK_THROWS_AS(run("custom", c, t), std::invalid_argument);
}

TEST_CASE("a block's numbers follow from the seed, on any number of threads", "[conv-block]") {
  const kernels::ConvProblem problem{.batch = 2,
                                     .in_channels = 64,
                                     .in_height = 61,
                                     .in_width = 67,
                                     .out_channels = 8,
                                     .out_height = 61,
                                     .out_width = 67};
  const auto input = [&](std::uint64_t seed, int threads) {
    at::manual_seed(seed);
    at::set_num_threads(threads);
    return kernels::make_conv_block(problem, false).input;
  };
  const int before = at::get_num_threads();
  const at::Tensor one = input(1, 1);
  const at::Tensor two = input(1, 2);
  const at::Tensor other = input(2, 2);
  at::set_num_threads(before);
  CHECK(at::equal(one, two));
  CHECK_FALSE(at::equal(one, other));
  CHECK(one.is_contiguous(at::MemoryFormat::ChannelsLast));
  // Half a million numbers: five standard errors.
  CHECK(std::abs(one.mean().item<double>()) < 5 / std::sqrt(static_cast<double>(one.numel())));
  CHECK(one.std().item<double>() ==
        Approx(1).margin(5 / std::sqrt(2.0 * static_cast<double>(one.numel()))));
  // Its blocks of numbers are no copies of each other.
  const at::Tensor flat = one.permute({0, 2, 3, 1}).flatten();
  CHECK_FALSE(at::equal(flat.narrow(0, 0, 1 << 14), flat.narrow(0, 1 << 14, 1 << 14)));
}
