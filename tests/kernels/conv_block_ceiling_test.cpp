// conv-block with a ceiling, as MobileNet's ReLU6 has one.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>

#include "tests/support/conv_block_tensors.hpp"

using namespace harness::tests;  // NOLINT(google-build-using-namespace)
namespace kernels = harness::kernels;

TEST_CASE("conv-block=custom cuts a ReLU off where it is told to, by any kernel", "[conv-block]") {
  const bool bf16 = GENERATE(false, true);
  const char* const implementation = GENERATE("custom", "direct", "winograd");
  for (Case c :
       {Case{.name = "stem", .in = 3, .out = 32, .stride = 2, .norm = true},
        Case{.name = "3x3", .in = 64, .out = 64, .bias = true},
        Case{.name = "pointwise", .in = 24, .out = 144, .kernel = 1, .padding = 0, .bias = true},
        Case{.name = "residual", .out = 24, .kernel = 1, .padding = 0, .residual = true},
        Case{.name = "8 a group", .in = 256, .out = 256, .groups = 32, .bias = true},
        Case{.name = "depthwise", .in = 96, .out = 96, .groups = 96, .bias = true},
        Case{.name = "depthwise, odd", .in = 7, .out = 7, .stride = 2, .groups = 7, .bias = true},
        Case{.name = "a map of one", .in = 96, .out = 96, .height = 1, .width = 1, .groups = 96}}) {
    c.relu = true;
    c.ceiling = 1.5;  // the values' deviation is 1 and more
    const Tensors made = make(c);
    const at::Tensor expected = run("reference", c, as(made, at::kDouble)).detach();
    CHECK(expected.max().item<double>() == 1.5);
    INFO(c.name << ", " << implementation);
    {
      const at::NoGradGuard no_gradient;
      const kernels::AutocastScope autocast(bf16);
      CHECK(relative_error(run(implementation, c, made), expected) < (bf16 ? 0.02 : 1e-5));
    }
    if (bf16) continue;
    // With gradients, too: none comes through where the ceiling cut something off.
    CHECK(worst_error(implementation, c) < 1e-5);
  }
}
