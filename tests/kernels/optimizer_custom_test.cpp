// `optimizer=custom` against the reference: how far they are apart, layouts, switching between
// them.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/optimizer/optimizer.hpp"
#include "tests/support/tensors.hpp"

namespace kernels = harness::kernels;
using harness::tests::ThreadScope;

namespace {

/// A convolution's weight in channels_last, one of 1x1, a bias, one element, none at all.
std::vector<at::Tensor> make_parameters() {
  at::manual_seed(31);
  std::vector<at::Tensor> parameters = {
      at::randn({40, 24, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast),
      at::randn({300, 70, 1, 1}).contiguous(at::MemoryFormat::ChannelsLast), at::randn({257}),
      at::randn({1}), at::empty({0})};
  for (at::Tensor& parameter : parameters) parameter.set_requires_grad(true);
  return parameters;
}

/// Gradients of very different size, some of them 0, as `step` and parameter say.
void set_gradients(kernels::AdamState& state, int step) {
  at::manual_seed(1000 + static_cast<uint64_t>(step));
  for (at::Tensor& parameter : state.parameters) {
    const at::Tensor scale = at::pow(10, at::randint(-6, 3, parameter.sizes()).to(at::kFloat));
    const at::Tensor gradient = at::randn(parameter.sizes()) * scale;
    parameter.mutable_grad() =
        at::empty_like(parameter.detach()).copy_(gradient * (at::rand(parameter.sizes()) > 0.1));
  }
}

void step(kernels::AdamState& state, const std::string& implementation, double rate = 1e-3) {
  kernels::optimizer_operator().get(implementation)(state, rate);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0 : (a.detach() - b.detach()).abs().max().item<double>();
}

/// Adam moves an element by at most the rate a step or so: differences are measured in rates.
double distance(const kernels::AdamState& a, const kernels::AdamState& b, double rate) {
  double largest = 0;
  for (size_t i = 0; i < a.parameters.size(); ++i) {
    largest = std::max(largest, largest_difference(a.parameters[i], b.parameters[i]));
  }
  return largest / rate;
}

}  // namespace

TEST_CASE("optimizer=custom stays with the reference over a hundred steps",
          "[kernels][optimizer]") {
  constexpr double kRate = 1e-3;
  kernels::AdamState reference = kernels::make_adam_state(make_parameters());
  kernels::AdamState custom = kernels::make_adam_state(make_parameters());
  kernels::AdamState mixed = kernels::make_adam_state(make_parameters());
  for (int i = 1; i <= 100; ++i) {
    set_gradients(reference, i);
    step(reference, "reference", kRate);
    set_gradients(custom, i);
    step(custom, "custom", kRate);
    set_gradients(mixed, i);
    step(mixed, i % 2 == 0 ? "reference" : "custom", kRate);
    if (i != 1 && i != 10 && i != 100) continue;
    INFO("step " << i << ": " << distance(reference, custom, kRate) << " rates apart");
    // The parameters are around 1, so one rounding of them is 6e-8, 6e-5 rates.
    CHECK(distance(reference, custom, kRate) < 2e-4 * i);
    CHECK(distance(reference, mixed, kRate) < 2e-4 * i);
    for (size_t p = 0; p < 4; ++p) {
      CHECK(at::allclose(reference.first_moments[p], custom.first_moments[p], 1e-5, 1e-9));
      CHECK(at::allclose(reference.second_moments[p], custom.second_moments[p], 1e-5, 1e-14));
    }
  }
  CHECK(custom.steps == reference.steps);
  CHECK(custom.steps == std::vector<int64_t>(5, 100));
}

TEST_CASE("optimizer=custom follows Adam's formula", "[kernels][optimizer]") {
  kernels::AdamState state = kernels::make_adam_state(make_parameters());
  std::vector<std::vector<double>> m(5), v(5), w(5);
  for (size_t p = 0; p < 5; ++p) {
    const at::Tensor flat = state.parameters[p].detach().reshape(-1);
    for (int64_t i = 0; i < std::min<int64_t>(flat.numel(), 200); ++i) {
      w[p].push_back(flat[i].item<double>());
    }
    m[p].resize(w[p].size());
    v[p].resize(w[p].size());
  }
  for (int i = 1; i <= 5; ++i) {
    set_gradients(state, i);
    step(state, "custom", 0.1 / i);
    for (size_t p = 0; p < 5; ++p) {
      const at::Tensor gradient = state.parameters[p].grad().reshape(-1);
      const at::Tensor after = state.parameters[p].detach().reshape(-1);
      for (size_t e = 0; e < w[p].size(); ++e) {
        const auto g = gradient[static_cast<int64_t>(e)].item<double>();
        m[p][e] = 0.9 * m[p][e] + 0.1 * g;
        v[p][e] = 0.999 * v[p][e] + 0.001 * g * g;
        w[p][e] -= 0.1 / i * (m[p][e] / (1 - std::pow(0.9, i))) /
                   (std::sqrt(v[p][e] / (1 - std::pow(0.999, i))) + 1e-8);
        CHECK(after[static_cast<int64_t>(e)].item<double>() ==
              Approx(w[p][e]).epsilon(1e-5).margin(1e-6));
      }
    }
  }
}

TEST_CASE("optimizer=custom takes gradients and parameters of any layout", "[kernels][optimizer]") {
  const auto parameters = [] {
    at::manual_seed(32);
    std::vector<at::Tensor> made = {
        at::randn({16, 8, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast),
        at::randn({16, 8, 3, 3}), at::randn({30, 20}).t(), at::randn({12, 20}).slice(1, 3, 9)};
    for (at::Tensor& parameter : made) parameter.set_requires_grad(true);
    return made;
  };
  kernels::AdamState reference = kernels::make_adam_state(parameters());
  kernels::AdamState custom = kernels::make_adam_state(parameters());
  for (int i = 1; i <= 3; ++i) {
    for (kernels::AdamState* state : {&reference, &custom}) {
      at::manual_seed(static_cast<uint64_t>(i));
      for (size_t p = 0; p < state->parameters.size(); ++p) {
        at::Tensor& parameter = state->parameters[p];
        const at::Tensor gradient = at::randn(parameter.sizes());
        // Each in the other layout than its parameter.
        parameter.mutable_grad() =
            p == 1 ? gradient.contiguous(at::MemoryFormat::ChannelsLast) : gradient;
      }
    }
    step(reference, "reference");
    step(custom, "custom");
  }
  CHECK(distance(reference, custom, 1e-3) < 1e-3);
}

TEST_CASE("optimizer=custom leaves parameters without a gradient alone", "[kernels][optimizer]") {
  kernels::AdamState state = kernels::make_adam_state(make_parameters());
  step(state, "custom");
  CHECK(state.steps == std::vector<int64_t>(5, 0));
  const at::Tensor before = state.parameters[1].detach().clone();
  set_gradients(state, 1);
  state.parameters[1].mutable_grad() = at::Tensor();
  step(state, "custom");
  CHECK(state.steps == std::vector<int64_t>{1, 0, 1, 1, 1});
  CHECK(at::equal(state.parameters[1], before));
  CHECK(state.first_moments[1].abs().sum().item<double>() == 0);
  // The late one starts with its own first step.
  set_gradients(state, 2);
  step(state, "custom");
  CHECK(state.steps == std::vector<int64_t>{2, 1, 2, 2, 2});
  CHECK(largest_difference(state.parameters[1], before) == Approx(1e-3).epsilon(1e-3));
}

TEST_CASE("optimizer=custom gives the same bits with every number of threads, and NaN stays NaN",
          "[kernels][optimizer]") {
  const auto after_steps = [](int threads) {
    const ThreadScope scope(threads);
    kernels::AdamState state = kernels::make_adam_state(make_parameters());
    for (int i = 1; i <= 3; ++i) {
      set_gradients(state, i);
      step(state, "custom");
    }
    return state;
  };
  const kernels::AdamState expected = after_steps(1);
  for (const int threads : {2, 3}) {
    CHECK(distance(after_steps(threads), expected, 1) == 0);
  }
  kernels::AdamState state = kernels::make_adam_state(make_parameters());
  set_gradients(state, 1);
  state.parameters[0].grad()[1][2][1][0] = std::nan("");
  step(state, "custom");
  CHECK(state.parameters[0].isnan().sum().item<int64_t>() == 1);
  CHECK(std::isnan(state.parameters[0][1][2][1][0].item<double>()));
}

TEST_CASE("every optimizer says by the version counter what it has changed",
          "[kernels][optimizer]") {
  for (const auto& implementation : kernels::optimizer_operator().implementations()) {
    INFO(implementation.name);
    kernels::AdamState state = kernels::make_adam_state(make_parameters());
    set_gradients(state, 0);
    state.parameters[2].mutable_grad().reset();
    std::vector<uint32_t> before;
    for (const at::Tensor& parameter : state.parameters) {
      before.push_back(static_cast<uint32_t>(parameter._version()));
    }
    step(state, implementation.name);
    for (size_t i = 0; i < before.size(); ++i) {
      CHECK((state.parameters[i]._version() > before[i]) == (i != 2));
    }
  }
}
