// conv-block where a gradient is asked for alone, a kernel cannot be made, or memory is short.
#include <c10/core/CPUAllocator.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/tuning.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/conv_block_tensors.hpp"
#include "workloads/torch/tuning.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using namespace harness::tests;

namespace {

/// A head's layer, of which Winograd's kernels compute each pass.
Case tower() {
  return {
      .name = "tower", .in = 32, .out = 40, .height = 23, .width = 21, .bias = true, .relu = true};
}

/// LibTorch's allocator, but for what is larger than `most` bytes.
class Stingy final : public c10::Allocator {
 public:
  Stingy() { c10::SetCPUAllocator(this); }
  ~Stingy() override { c10::SetCPUAllocator(before_); }
  Stingy(const Stingy&) = delete;
  Stingy& operator=(const Stingy&) = delete;

  c10::DataPtr allocate(size_t size) override {
    if (size > most) {
      ++refused;
      throw std::bad_alloc();
    }
    return before_->allocate(size);
  }
  c10::DeleterFnPtr raw_deleter() const override { return before_->raw_deleter(); }
  void copy_data(void* target, const void* source, std::size_t size) const override {
    default_copy_data(target, source, size);
  }

  std::size_t most = SIZE_MAX;
  int refused = 0;

 private:
  c10::Allocator* before_ = c10::GetCPUAllocator();
};

std::vector<at::Tensor> output_and_gradients(const char* implementation, const Case& c,
                                             const Tensors& tensors) {
  std::vector<at::Tensor> all{run(implementation, c, tensors)};
  const auto gradients = torch::autograd::grad({all[0]}, leaves(tensors), {at::ones_like(all[0])});
  all.insert(all.end(), gradients.begin(), gradients.end());
  return all;
}

// One that a table may name and a library does not have after all.
bool of_thirteen(const kernels::ConvolutionShape& shape, kernels::ConvolutionPass /*pass*/) {
  return shape.in_channels == 13;
}
std::unique_ptr<kernels::ConvolutionKernel> no_kernel(
    const kernels::ConvolutionShape& /*shape*/, const kernels::ConvolutionPasses& /*passes*/) {
  return nullptr;
}
const kernels::RegisterConvolutionKernel registered({"never-made", of_thirteen, nullptr,
                                                     no_kernel});

}  // namespace

TEST_CASE("conv-block: each gradient asked for alone is the same as beside the others",
          "[conv-block]") {
  Case c = tower();
  c.residual = GENERATE(false, true);
  for (const char* implementation : {"custom", "direct", "winograd"}) {
    const Tensors exact = as(make(c), at::kDouble);
    const std::vector<at::Tensor> expected = output_and_gradients("reference", c, exact);
    for (std::size_t i = 0; i < leaves(exact).size(); ++i) {
      CAPTURE(implementation, c.residual, i);
      const Tensors tried = as(make(c), at::kFloat);
      const at::Tensor wanted = leaves(tried)[i];
      const at::Tensor output = run(implementation, c, tried);
      const auto asked = torch::autograd::grad({output}, {wanted}, {at::ones_like(output)}, true);
      CHECK(relative_error(asked[0], expected[i + 1]) < 1e-5);
      // And where nothing else is trained.
      for (const at::Tensor& leaf : leaves(tried)) leaf.set_requires_grad(leaf.is_same(wanted));
      const at::Tensor alone = run(implementation, c, tried);
      const auto frozen = torch::autograd::grad({alone}, {wanted}, {at::ones_like(alone)});
      CHECK(relative_error(frozen[0], expected[i + 1]) < 1e-5);
    }
  }
}

TEST_CASE("conv-block: a pass whose kernel cannot be made is a direct one, and the result says so",
          "[conv-block]") {
  using kernels::ConvolutionPass;
  const Case c{.name = "", .in = 13, .out = 40, .height = 23, .width = 21, .bias = true};
  const std::string problem = "mb1_ic13oc40_ih23oh23kh3sh1dh0ph1_iw21ow21kw3sw1dw0pw1";
  const int threads = kernels::threads();
  kernels::use_tuning({{problem, at::kFloat, ConvolutionPass::kForward, threads, "never-made"},
                       {problem, at::kFloat, ConvolutionPass::kWeights, threads, "winograd-4x4"}});
  CHECK(worst_error("custom", c) < 1e-5);
  std::map<ConvolutionPass, std::string> names;
  for (const auto& [choice, calls] : kernels::convolutions_run()) {
    if (choice.problem == problem) names[choice.pass] = choice.kernel;
  }
  CHECK(names[ConvolutionPass::kForward] == "onednn");
  CHECK(names[ConvolutionPass::kWeights] == "winograd-4x4");
  kernels::use_tuning({});
}

TEST_CASE("conv-block: Winograd without memory for its tiles is direct", "[conv-block]") {
  const Case c = tower();
  const std::vector<at::Tensor> direct = output_and_gradients("direct", c, as(make(c), at::kFloat));
  Stingy stingy;
  const Tensors tensors = as(make(c), at::kFloat);
  // Beyond what the direct kernels need, short of transformed tiles (16 and 36 values for 4 and
  // 16).
  stingy.most = 1 << 17;
  const std::vector<at::Tensor> short_of_memory = output_and_gradients("winograd", c, tensors);
  stingy.most = SIZE_MAX;
  CHECK(stingy.refused >= 3);
  for (std::size_t i = 0; i < direct.size(); ++i) {
    CAPTURE(i);
    CHECK(at::equal(short_of_memory[i], direct[i]));
  }
}

TEST_CASE("a tuning table that names no kernel of ours is refused", "[conv-block][tuning]") {
  TuningTable table;
  table.lines[{"mb1", "f32", "forward", 2}] = {"fft", {}};
  CHECK_THROWS_WITH(workloads::use_tuning(table), Catch::StartsWith("the tuning table: ") &&
                                                      Catch::Contains("'fft'") &&
                                                      Catch::Contains("harness tune"));
}
