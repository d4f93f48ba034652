// The collecting half of `harness profile`: whom oneDNN's lines, kernels and memory belong to.
#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "harness/profile/tables.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/profiler.hpp"
#include "workloads/torch/step_recorder.hpp"

namespace {

namespace kernels = harness::kernels;
using harness::OperatorRow;
using harness::PrimitiveRow;
using harness::ProfileTables;

at::Tensor channels_last(at::IntArrayRef sizes) {
  return at::randn(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}

ProfileTables profile(const std::function<void()>& step, int steps = 1) {
  const auto recorder = harness::workloads::make_step_recorder();
  for (int i = 0; i < steps; ++i) {
    recorder->begin_step();
    step();
    recorder->end_step();
  }
  return harness::tabulate(recorder->take());
}

/// Times in a step that a convolution of that direction runs for a module, whoever computes it.
double convolutions(const ProfileTables& tables, const std::string& module,
                    const std::string& direction) {
  double calls = 0;
  for (const PrimitiveRow& row : tables.primitives) {
    if (row.primitive.kind != "convolution" || !row.owner) continue;
    const bool forward = row.primitive.direction.starts_with("forward");
    const std::string is = forward ? "forward" : row.primitive.direction;
    if (is == direction && tables.operators[*row.owner].module == module) calls += row.calls;
  }
  return calls;
}

/// Two blocks, the second grouped: what a training step does with them.
std::function<void()> two_blocks(const std::string& implementation) {
  auto first = std::make_shared<at::Tensor>(at::randn({64, 32, 3, 3}).requires_grad_());
  auto second = std::make_shared<at::Tensor>(at::randn({64, 8, 3, 3}).requires_grad_());
  return [=] {
    const auto& block = kernels::conv_block_operator().get(implementation);
    const at::Tensor input = channels_last({1, 32, 64, 64}).requires_grad_();
    at::Tensor middle;
    {
      const kernels::ModuleScope module("net.first");
      middle = block({.input = input, .weight = *first, .padding = 1, .relu = true});
    }
    at::Tensor output;
    {
      const kernels::ModuleScope module("net.second");
      output = block({.input = middle, .weight = *second, .padding = 1, .groups = 8});
    }
    output.sum().backward();
  };
}

}  // namespace

TEST_CASE("each convolution belongs to its module, forward and backward", "[profile]") {
  for (const char* implementation : {"reference", "custom"}) {
    CAPTURE(implementation);
    const auto step = two_blocks(implementation);
    step();
    const ProfileTables tables = profile(step, 2);
    CHECK(tables.steps == 2);
    CHECK(tables.attributed_share == 1);
    double flops = 0;
    for (const OperatorRow& row : tables.operators) flops += row.flops;
    for (const char* module : {"net.first", "net.second"}) {
      CAPTURE(module);
      CHECK(convolutions(tables, module, "forward") == 1);
      CHECK(convolutions(tables, module, "backward_data") == 1);
      CHECK(convolutions(tables, module, "backward_weights") == 1);
    }
    CHECK(flops == Approx(3 * 2.0 * 64 * 64 * 9 * (64 * 32 + 64 * 8)));
    double inside = tables.between_seconds;
    for (const OperatorRow& row : tables.operators) {
      CAPTURE(row.name, row.module, row.shapes);
      CHECK(row.self_seconds >= 0);
      // oneDNN reads its own clock, but within the operator.
      CHECK(row.gap_seconds() > -1e-4);
      inside += row.self_seconds;
    }
    CHECK(inside == Approx(tables.step_seconds));
  }
}

TEST_CASE("convolutions that LibTorch computes itself are counted", "[profile]") {
  // What is small enough is up to LibTorch; whoever computes it, the work is the same.
  for (const std::int64_t extent : {2, 7, 40}) {
    CAPTURE(extent);
    const at::Tensor weight = at::randn({24, 16, 3, 3}).requires_grad_();
    const ProfileTables tables = profile([&] {
      const at::Tensor input = at::randn({1, 16, extent, extent}).requires_grad_();
      at::conv2d(input, weight, {}, 1, 1).sum().backward();
    });
    double flops = 0;
    for (const OperatorRow& row : tables.operators) flops += row.flops;
    CHECK(flops == Approx(3 * 2.0 * 24 * 16 * 9 * static_cast<double>(extent * extent)));
  }
}

TEST_CASE("equal steps make no primitive anew", "[profile]") {
  const auto created = [](const ProfileTables& tables) {
    double sum = 0;
    for (const PrimitiveRow& row : tables.primitives) sum += row.created;
    return sum;
  };
  const auto step = two_blocks("reference");
  step();
  CHECK(created(profile(step, 3)) == 0);
  // A map that nothing else here has: it is made at its first use.
  const at::Tensor weight = at::randn({48, 40, 3, 3});
  const auto fresh = [&] { at::conv2d(channels_last({1, 40, 61, 67}), weight, {}, 1, 1); };
  CHECK(created(profile(fresh)) > 0);
}

TEST_CASE("memory is told with who took it", "[profile]") {
  kernels::use_allocator("system");
  const ProfileTables tables = profile([] {
    const kernels::ModuleScope module("net.large");
    at::zeros({1 << 20});
  });
  REQUIRE(!tables.allocations.empty());
  CHECK(tables.allocations[0].bytes >= 4 << 20);
  CHECK(tables.allocations[0].module == "net.large");
  CHECK(tables.allocations[0].operator_name.starts_with("aten::"));
  CHECK(!tables.memory.empty());
}

TEST_CASE("what the step's own thread left to the system is told", "[profile]") {
  kernels::use_allocator("system");
  constexpr double kPages = (256 << 20) / 4096.0;
  const ProfileTables tables = profile([] {
    at::zeros({64 << 20});
    std::thread other([] { at::zeros({64 << 20}); });
    other.join();
  });
  REQUIRE(tables.system);
  CHECK(tables.system->seconds > 0);
  CHECK(tables.system->seconds < tables.step_seconds);
  CHECK(tables.system->page_faults > 0);
  CHECK(tables.system->page_faults < 1.1 * kPages);  // not the other thread's
  double seconds = 0;
  for (const OperatorRow& row : tables.operators) seconds += row.system_seconds;
  CHECK(seconds > 0);
  CHECK(seconds <= Approx(tables.system->seconds));
}

TEST_CASE("other threads are told apart", "[profile]") {
  const ProfileTables tables = profile([] {
    std::thread other([] { at::ones({100}).add_(1); });
    other.join();
  });
  CHECK(tables.operators.empty());
  CHECK(std::any_of(tables.notes.begin(), tables.notes.end(), [](const std::string& note) {
    return note.find("ran on other threads, the longest aten::") != std::string::npos;
  }));
}

TEST_CASE("nothing is recorded beside a profiler, nor by two at a time", "[profile]") {
  kernels::Profiler profiler;
  at::ones({10}).add_(1);
  {
    const kernels::ModuleScope module("nobody's");
    const kernels::KernelScope kernel("nobody's", [] {
      FAIL("facts are asked while nobody records");
      return kernels::KernelFacts{};
    });
  }
  profiler.enter(kernels::ScopeKind::kStep, "nobody's");
  profiler.leave();
  profiler.resume();
  kernels::Profiler another;
  CHECK_THROWS_AS(another.resume(), std::logic_error);
  profiler.suspend();
  another.resume();
  another.suspend();
  at::ones({10}).add_(1);
  const kernels::Trace trace = profiler.take();
  CHECK(trace.scopes.empty());
  CHECK(trace.allocations.empty());
}

TEST_CASE("an operator that throws is closed with the scopes around it", "[profile]") {
  const auto recorder = harness::workloads::make_step_recorder();
  recorder->begin_step();
  try {
    const kernels::ModuleScope module("net.wrong");
    at::matmul(at::ones({2, 3}), at::ones({2, 3}));
    FAIL("no error");
  } catch (const c10::Error&) {
  }
  at::zeros({3}).add_(1);
  recorder->end_step();
  const ProfileTables tables = harness::tabulate(recorder->take());
  const auto zeros = std::find_if(tables.operators.begin(), tables.operators.end(),
                                  [](const OperatorRow& row) { return row.name == "aten::zeros"; });
  REQUIRE(zeros != tables.operators.end());
  CHECK(zeros->module.empty());
}
