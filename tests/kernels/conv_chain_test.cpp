// conv-chain against double precision: sizes, batches, threads, values that are none.
#include "kernels/conv_chain/conv_chain.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/products/products.hpp"
#include "kernels/runtime/autocast.hpp"
#include "kernels/runtime/profiler.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/simd_targets.hpp"

using namespace harness::kernels;  // NOLINT(google-build-using-namespace)

namespace {

struct Threads {
  explicit Threads(int count) : before(threads()) { set_threads(count); }
  ~Threads() { set_threads(before); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  int before;
};

ConvChainLayer layer(std::int64_t in, std::int64_t out, std::int64_t kernel = 1,
                     std::int64_t stride = 1, std::int64_t groups = 1) {
  const std::int64_t fan_in = in / groups * kernel * kernel;
  return {.weight = at::randn({out, in / groups, kernel, kernel}) /
                    std::sqrt(static_cast<double>(fan_in)),
          .bias = at::randn({out}) * 0.5,
          .stride = stride,
          .padding = (kernel - 1) / 2,
          .groups = groups};
}

ConvChainLayer clipped(ConvChainLayer layer, double ceiling = kNoCeiling) {
  layer.relu = true;
  layer.ceiling = ceiling;
  return layer;
}

ConvChainLayer adding(ConvChainLayer layer, std::size_t input_of) {
  layer.adds_input_of = input_of;
  return layer;
}

struct Named {
  std::string name{};
  std::int64_t in = 3;
  std::vector<ConvChainLayer> layers{};
};

/// A network like MobileNetV2, and what it has not.
std::vector<Named> chains() {
  at::manual_seed(11);
  std::vector<Named> all;
  Named mobile{.name = "mobile", .in = 3};
  mobile.layers = {clipped(layer(3, 32, 3, 2), 6),
                   clipped(layer(32, 32, 3, 1, 32), 6),
                   layer(32, 16),
                   clipped(layer(16, 96), 6),
                   clipped(layer(96, 96, 3, 2, 96), 6),
                   layer(96, 24),
                   clipped(layer(24, 144), 6),
                   clipped(layer(144, 144, 3, 1, 144), 6),
                   adding(layer(144, 24), 6),
                   clipped(layer(24, 50), 6)};
  all.push_back(mobile);
  all.push_back({"one product", 5, {layer(5, 7)}});
  all.push_back({"adds what goes in", 8, {adding(clipped(layer(8, 8)), 0)}});
  all.push_back({"adds far back",
                 8,
                 {clipped(layer(8, 8, 3)), layer(8, 40), clipped(layer(40, 40, 3, 1, 40)),
                  adding(layer(40, 8), 1), adding(layer(8, 8, 3), 0)}});
  all.push_back(
      {"large kernels", 4, {clipped(layer(4, 20, 7, 2)), layer(20, 12, 5), layer(12, 9, 1, 2)}});
  ConvChainLayer tight = layer(6, 6, 3);
  tight.padding = 0;
  tight.bias = std::nullopt;
  all.push_back({"no padding, no bias", 6, {tight, layer(6, 33)}});
  all.push_back({"depthwise alone", 17, {clipped(layer(17, 17, 3, 1, 17))}});
  return all;
}

/// Those that are computed in bf16.
std::vector<Named> narrow_chains() {
  std::vector<Named> all{chains().front()};
  all.push_back({"two products", 6, {layer(6, 34), layer(34, 7)}});
  all.push_back({"adds far back",
                 3,
                 {clipped(layer(3, 20, 5, 2)), layer(20, 22), clipped(layer(22, 22, 3, 1, 22)),
                  adding(layer(22, 20), 1), adding(clipped(layer(20, 20)), 1), layer(20, 33)}});
  return all;
}

/// In double precision, one convolution after another.
at::Tensor exact(const Named& chain, const at::Tensor& maps, bool mean) {
  std::vector<at::Tensor> inputs;
  at::Tensor now = maps.to(at::kDouble);
  for (const ConvChainLayer& l : chain.layers) {
    inputs.push_back(now);
    std::optional<at::Tensor> bias;
    if (l.bias) bias = l.bias->to(at::kDouble);
    now = at::conv2d(now, l.weight.to(at::kDouble), bias, {l.stride, l.stride},
                     {l.padding, l.padding}, {1, 1}, l.groups);
    if (l.adds_input_of) now = now + inputs[*l.adds_input_of];
    if (l.relu) now = at::clamp(now, 0, l.ceiling);
  }
  return mean ? now.mean({2, 3}) : now;
}

double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  REQUIRE(actual.sizes() == expected.sizes());
  return (actual.to(at::kDouble) - expected).norm().item<double>() /
         (expected.norm().item<double>() + 1e-30);
}

}  // namespace

TEST_CASE("conv-chain of no picture gives none", "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  const std::string implementation = GENERATE("reference", "custom");
  const Named chain = chains().front();
  const auto made = conv_chain_operator().get(implementation)({chain.layers, false});
  CHECK(made->forward(at::empty({0, chain.in, 16, 16})).size(0) == 0);
}

TEST_CASE("conv-chain equals double precision for any size, batch and number of threads",
          "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  const auto all = chains();
  const std::string implementation = GENERATE("reference", "blocks", "custom");
  const bool mean = GENERATE(false, true);
  for (const Named& chain : all) {
    const auto made = conv_chain_operator().get(implementation)({chain.layers, mean});
    for (const std::int64_t batch : {1, 2, 3, 9, 21}) {
      for (const auto& [height, width] : {std::pair(16, 16), std::pair(13, 22), std::pair(5, 3)}) {
        const at::Tensor maps = at::randn({batch, chain.in, height, width});
        const at::Tensor expected = exact(chain, maps, mean);
        for (const int count : {1, 2, 3}) {
          const Threads several(count);
          INFO(implementation << ", " << chain.name << ", " << batch << " of " << height << "x"
                              << width << ", " << count << " threads, mean " << mean);
          CHECK(relative_error(made->forward(maps), expected) < 2e-6);
        }
      }
    }
  }
}

TEST_CASE("conv-chain=custom is exact in all instruction sets", "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  const auto all = chains();
  harness::tests::for_each_simd_target([&](const std::string& target) {
    for (const Named& chain : all) {
      const auto made = conv_chain_operator().get("custom")({chain.layers, false});
      const at::Tensor maps = at::randn({3, chain.in, 11, 14});
      INFO(target << ", " << chain.name);
      CHECK(relative_error(made->forward(maps), exact(chain, maps, false)) < 2e-6);
    }
  });
}

TEST_CASE("a picture's bits do not depend on the others, nor on the threads", "[conv-chain]") {
  const bool narrow = GENERATE(false, true);
  if (narrow && !has_narrow_products()) return;
  const at::NoGradGuard no_gradient;
  const AutocastScope autocast(narrow);
  for (const Named& chain : narrow ? narrow_chains() : chains()) {
    const auto made = conv_chain_operator().get("custom")({chain.layers, true});
    // Large enough that the first layers take one picture after another, the later ones several.
    const at::Tensor maps = at::randn({19, chain.in, 70, 66});
    const at::Tensor first = made->forward(maps);
    for (const int count : {1, 2, 3, 4}) {
      const Threads several(count);
      INFO(chain.name << ", " << count << " threads, narrow " << narrow);
      CHECK(made->forward(maps).equal(first));
      CHECK(made->forward(maps.narrow(0, 4, 1)).equal(first.narrow(0, 4, 1)));
      CHECK(made->forward(maps.narrow(0, 7, 3)).equal(first.narrow(0, 7, 3)));
    }
    CHECK(relative_error(first, exact(chain, maps, true)) < (narrow ? 0.01 : 2e-6));
  }
}

TEST_CASE("what is no number reaches the answers of its own picture alone", "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  const float what =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  const Named chain = chains().front();
  for (const std::int64_t batch : {3, 16}) {
    at::Tensor maps = at::randn({batch, chain.in, 16, 16});
    const auto made = conv_chain_operator().get("custom")({chain.layers, false});
    const at::Tensor before = made->forward(maps).clone();
    maps[2][1][5][5] = what;
    const at::Tensor after = made->forward(maps);
    for (std::int64_t i = 0; i < batch; ++i) CHECK(after[i].equal(before[i]) == (i != 2));
    if (std::isnan(what)) CHECK(after[2].isnan().any().item<bool>());
  }
}

TEST_CASE("conv-chain takes its weights when it is made, and leaves its input alone",
          "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  Named chain = chains()[2];
  const auto made = conv_chain_operator().get("custom")({chain.layers, false});
  const at::Tensor maps = at::randn({2, chain.in, 4, 4});
  const at::Tensor kept = maps.clone();
  const at::Tensor expected = exact(chain, maps, false);
  chain.layers.front().weight.zero_();
  CHECK(relative_error(made->forward(maps), expected) < 2e-6);
  CHECK(maps.equal(kept));
  // Not dense: every second picture.
  const at::Tensor wide = at::randn({4, chain.in, 4, 4});
  CHECK(made->forward(wide.slice(0, 0, 4, 2)).equal(made->forward(wide.slice(0, 0, 4, 2).clone())));
}

TEST_CASE("conv-chain in bf16: no further from double precision than eager bf16", "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  const AutocastScope autocast(true);
  const bool mean = GENERATE(false, true);
  for (const Named& chain : narrow_chains()) {
    const auto custom = conv_chain_operator().get("custom")({chain.layers, mean});
    const auto eager = conv_chain_operator().get("reference")({chain.layers, mean});
    for (const std::int64_t batch : {1, 2, 3, 9, 21}) {
      for (const auto& [height, width] : {std::pair(16, 16), std::pair(13, 22), std::pair(5, 3)}) {
        const at::Tensor maps = at::randn({batch, chain.in, height, width});
        const at::Tensor expected = exact(chain, maps, mean);
        const double theirs = relative_error(eager->forward(maps), expected);
        for (const int count : {1, 2, 3}) {
          const Threads several(count);
          INFO(chain.name << ", " << batch << " of " << height << "x" << width << ", " << count
                          << " threads, mean " << mean << ", eager " << theirs);
          const double ours = relative_error(custom->forward(maps), expected);
          CHECK(ours < 1.2 * theirs);
          CHECK(ours < 0.01);
        }
      }
    }
  }
}

TEST_CASE("conv-chain in bf16: a NaN reaches the answers of its own picture alone",
          "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  const AutocastScope autocast(true);
  const Named chain = narrow_chains().front();
  const auto made = conv_chain_operator().get("custom")({chain.layers, false});
  at::Tensor maps = at::randn({16, chain.in, 16, 16});
  const at::Tensor before = made->forward(maps).clone();
  maps[2][1][5][5] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor after = made->forward(maps);
  for (std::int64_t i = 0; i < 16; ++i) CHECK(after[i].equal(before[i]) == (i != 2));
  CHECK(after[2].isnan().any().item<bool>());
}

TEST_CASE("conv-chain, layer by layer for a profile, gives the same bits", "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  for (const bool narrow : {false, true}) {
    const AutocastScope autocast(narrow);
    const Named chain = chains().front();
    const auto made = conv_chain_operator().get("custom")({chain.layers, true});
    const at::Tensor maps = at::randn({4, chain.in, 33, 21});
    const at::Tensor expected = made->forward(maps);
    Profiler profiler;
    profiler.resume();
    const at::Tensor recorded = made->forward(maps);
    profiler.suspend();
    CHECK(recorded.equal(expected));
    std::vector<KernelFacts> layers;
    double flops = 0;
    for (const Scope& scope : profiler.take().scopes) {
      if (scope.name != "conv-chain.layer") continue;
      REQUIRE(scope.facts);
      layers.push_back(*scope.facts);
      flops += scope.facts->flops;
    }
    if (narrow && !has_narrow_products()) continue;
    REQUIRE(layers.size() == chain.layers.size());
    CHECK_THAT(layers[0].problem, Catch::Contains("mb4_ic3oc32_ih33oh17kh3sh2"));
    CHECK_THAT(layers[4].problem, Catch::Contains("g96"));
    CHECK(layers[0].type == "f32");
    CHECK(layers[3].type == (narrow ? "bf16" : "f32"));
    CHECK(flops > 2.0 * 4 * 17 * 11 * 27 * 32);
  }
}

TEST_CASE(
    "conv-chain of other layers in bf16, and with gradients, is conv blocks one after another",
    "[conv-chain]") {
  {
    // A kernel of its own behind the first layer, an odd number of channels, a sum with what goes
    // in.
    const at::NoGradGuard no_gradient;
    const AutocastScope autocast(true);
    for (const std::size_t i : {1U, 2U, 3U, 4U, 6U}) {
      const Named other = chains()[i];
      const at::Tensor maps = at::randn({2, other.in, 9, 9});
      const auto both = [&](const char* implementation) {
        return conv_chain_operator().get(implementation)({other.layers, false})->forward(maps);
      };
      INFO(other.name);
      CHECK(both("custom").equal(both("blocks")));
    }
  }
  const Named chain = chains().front();
  const auto custom = conv_chain_operator().get("custom")({chain.layers, false});
  const auto blocks = conv_chain_operator().get("blocks")({chain.layers, false});
  const at::Tensor maps = at::randn({2, chain.in, 16, 16});
  const auto gradient = [&](ConvChain& made) {
    at::Tensor leaf = maps.clone().set_requires_grad(true);
    made.forward(leaf).sum().backward();
    return leaf.grad();
  };
  CHECK(gradient(*custom).equal(gradient(*blocks)));
}

TEST_CASE("layers that no own kernel computes are conv blocks", "[conv-chain]") {
  const at::NoGradGuard no_gradient;
  const Named grouped{"grouped", 8, {layer(8, 8, 3, 1, 2), layer(8, 4)}};
  const at::Tensor maps = at::randn({2, 8, 6, 6});
  const auto made = conv_chain_operator().get("custom")({grouped.layers, false});
  CHECK(relative_error(made->forward(maps), exact(grouped, maps, false)) < 2e-6);
}

TEST_CASE("conv-chain refuses what does not fit", "[conv-chain]") {
  const std::string implementation = GENERATE("reference", "blocks", "custom");
  const auto make = conv_chain_operator().get(implementation);
  CHECK_THROWS_AS(make({}), std::invalid_argument);
  CHECK_THROWS_AS(make({{layer(4, 8), layer(4, 8)}, false}), std::invalid_argument);
  CHECK_THROWS_AS(make({{adding(layer(4, 4), 1)}, false}), std::invalid_argument);
  ConvChainLayer bad = layer(4, 8);
  bad.bias = at::zeros({7});
  CHECK_THROWS_AS(make({{bad}, false}), std::invalid_argument);
  bad = layer(4, 8);
  bad.stride = 0;
  CHECK_THROWS_AS(make({{bad}, false}), std::invalid_argument);
  // A map of other channels, one that is too small, sums of other sizes: of one position, too.
  ConvChainLayer tight = layer(4, 4, 3);
  tight.padding = 0;
  const auto made = make({{tight}, false});
  CHECK_THROWS_AS(made->forward(at::randn({1, 3, 8, 8})), std::invalid_argument);
  CHECK_THROWS_AS(made->forward(at::randn({1, 4, 2, 8})), std::invalid_argument);
  CHECK_THROWS_AS(made->forward(at::randn({4, 8, 8})), std::invalid_argument);
  const auto sums = make({{layer(4, 4, 3, 2), adding(layer(4, 4), 0)}, false});
  CHECK_THROWS_AS(sums->forward(at::randn({1, 4, 8, 8})), std::invalid_argument);
  const auto one = make({{tight, adding(layer(4, 4, 3, 1), 0)}, false});
  CHECK_THROWS_AS(one->forward(at::randn({1, 4, 3, 3})), std::invalid_argument);
}
