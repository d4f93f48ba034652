// Winograd's convolutions against direct ones in double precision: all tiles, all instruction sets.
#include "kernels/convolution/winograd.hpp"

#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/guarded_floats.hpp"
#include "tests/support/simd_targets.hpp"

using namespace harness::kernels;  // NOLINT(google-build-using-namespace)

namespace {

using Int = std::int64_t;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint16_t narrow(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float widen(std::uint16_t half) {
  const std::uint32_t bits = std::uint32_t{half} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// What a kernel sees of floats: themselves, or their upper halves with a guard behind them.
class Seen {
 public:
  Seen(Floats& floats, bool bf16) : floats_(floats), halves_(bf16 ? floats.size() + 1 : 0) {
    for (std::size_t i = 0; bf16 && i < floats.size(); ++i) halves_[i] = narrow(floats[i]);
  }
  void* data() { return halves_.empty() ? static_cast<void*>(floats_.data()) : halves_.data(); }
  /// Of what the kernel wrote.
  void back() {
    for (std::size_t i = 0; i + 1 < halves_.size(); ++i) floats_[i] = widen(halves_[i]);
    CHECK((halves_.empty() || halves_.back() == 0));
  }

 private:
  Floats& floats_;
  std::vector<std::uint16_t> halves_;
};

struct Problem {
  WinogradShape shape{};
  bool masked = true, fused = true;
  float magnitude = 1;
};

std::size_t count_of(Int a, Int b, Int c, Int d) { return static_cast<std::size_t>(a * b * c * d); }

/// All operands of one convolution, forward and backward, and what came out.
struct Operands {
  explicit Operands(const Problem& problem)
      : p(problem),
        s(problem.shape),
        input(count_of(s.batch, s.in_height, s.in_width, s.in_channels)),
        weights(count_of(s.out_channels, 3, 3, s.in_channels)),
        bias(static_cast<std::size_t>(s.out_channels)),
        scale(static_cast<std::size_t>(s.out_channels)),
        residual(count_of(s.batch, s.out_height(), s.out_width(), s.out_channels)),
        gradient(residual.size()),
        activated(residual.size()),
        output(residual.size()),
        grad_input(input.size()),
        grad_weights(weights.size()),
        grad_bias(bias.size()) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (Floats* floats : {&input, &weights, &bias, &scale, &residual, &gradient, &activated}) {
      for (std::size_t i = 0; i < floats->size(); ++i) (*floats)[i] = normal(random);
    }
    for (std::size_t i = 0; i < input.size(); ++i) input[i] *= p.magnitude;
    if (!s.bf16) return;
    for (Floats* floats : {&input, &residual, &gradient, &activated}) {
      for (std::size_t i = 0; i < floats->size(); ++i) (*floats)[i] = widen(narrow((*floats)[i]));
    }
  }

  bool forward() {
    Floats packed(winograd_packed_count(s));
    Floats workspace(winograd_workspace(s));
    const bool finite = winograd_pack(s, {weights.data(), scale.data()}, false, packed.data());
    Seen in(input, s.bf16);
    Seen added(residual, s.bf16);
    Seen out(output, s.bf16);
    winograd_convolve(
        s, {in.data()}, packed.data(),
        {out.data(), p.fused ? bias.data() : nullptr, p.fused ? added.data() : nullptr, p.fused},
        workspace.data());
    out.back();
    CHECK(packed.intact());
    CHECK(workspace.intact());
    CHECK(output.intact());
    return finite;
  }

  void backward() {
    const WinogradShape data = s.of_gradient_by_data();
    Seen in(input, s.bf16);
    Seen from(gradient, s.bf16);
    Seen behind(activated, s.bf16);
    Seen to(grad_input, s.bf16);
    const WinogradSource source{from.data(), p.masked ? behind.data() : nullptr};
    Floats packed(winograd_packed_count(data));
    Floats workspace(winograd_workspace(data));
    winograd_pack(data, {weights.data(), scale.data()}, true, packed.data());
    winograd_convolve(data, source, packed.data(), {to.data()}, workspace.data());
    to.back();
    Floats other(winograd_weights_workspace(s));
    winograd_backward_weights(s, in.data(), source, scale.data(), grad_weights.data(),
                              grad_bias.data(), other.data());
    for (const Floats* floats : {&packed, &workspace, &other, &grad_input, &grad_weights}) {
      CHECK(floats->intact());
    }
  }

  Problem p;
  WinogradShape s;
  Floats input, weights, bias, scale, residual, gradient, activated;
  Floats output, grad_input, grad_weights, grad_bias;
};

/// The same in double precision, one multiplication after another.
struct Exact {
  explicit Exact(Operands& o)
      : output(o.output.size()),
        grad_input(o.input.size()),
        grad_weights(o.weights.size()),
        grad_bias(o.bias.size()) {
    const WinogradShape& s = o.s;
    for (Int at = 0; at < static_cast<Int>(output.size()); ++at) {
      const Int o_channel = at % s.out_channels;
      const Int x = at / s.out_channels % s.out_width();
      const Int y = at / s.out_channels / s.out_width() % s.out_height();
      const Int image = at / s.out_channels / s.out_width() / s.out_height();
      const auto i = static_cast<std::size_t>(at);
      const auto out = static_cast<std::size_t>(o_channel);
      double sum = o.p.fused ? static_cast<double>(o.bias[out]) + o.residual[i] : 0;
      const bool through = !o.p.masked || o.activated[i] > 0;
      const double gradient = through ? static_cast<double>(o.gradient[i]) : 0;
      grad_bias[out] += gradient;
      for (Int tap = 0; tap < 9; ++tap) {
        const Int in_y = y - s.padding + tap / 3;
        const Int in_x = x - s.padding + tap % 3;
        if (in_y < 0 || in_y >= s.in_height || in_x < 0 || in_x >= s.in_width) continue;
        for (Int c = 0; c < s.in_channels; ++c) {
          const auto in = static_cast<std::size_t>(
              ((image * s.in_height + in_y) * s.in_width + in_x) * s.in_channels + c);
          const auto w = static_cast<std::size_t>((o_channel * 9 + tap) * s.in_channels + c);
          const double scale = o.scale[out];
          const double weight = o.weights[w] * scale;
          sum += o.input[in] * weight;
          grad_input[in] += gradient * weight;
          grad_weights[w] += gradient * o.input[in] * scale;
        }
      }
      output[i] = o.p.fused ? std::max(sum, 0.0) : sum;
    }
  }

  std::vector<double> output, grad_input, grad_weights, grad_bias;
};

std::vector<Problem> problems(int tile) {
  const auto shape = [&](Int batch, Int in, Int out, Int height, Int width, Int padding = 1) {
    return WinogradShape{batch, in, out, height, width, padding, tile};
  };
  return {{shape(1, 16, 32, 9, 7)},
          {shape(2, 3, 5, 10, 11), false, true},
          {shape(1, 40, 36, 13, 13), true, false},
          {shape(1, 300, 20, 6, 6, 0)},
          {shape(1, 17, 49, 1, 1)},
          {shape(3, 1, 1, 2, 1)},
          {shape(1, 20, 33, 1, 5, 2)},
          {shape(1, 8, 16, 33, 70)},
          {shape(1, 7, 270, 3, 4)},
          // Sums of thousands: as exact as those of hundreds.
          {shape(1, 2400, 9, 6, 7)},
          {shape(1, 9, 2400, 6, 7)},
          {shape(1, 16, 16, 8, 8), true, true, 1e15F},
          {shape(1, 16, 16, 8, 8), true, false, 1e-36F}};
}

/// Relative errors, the gradient by the bias apart.
struct Bounds {
  double activations = 0, grad_weights = 0;
};

void check_against_double(Problem problem, bool bf16, const Bounds& bounds) {
  problem.shape.bf16 = bf16;
  Operands operands(problem);
  Exact exact(operands);
  harness::tests::for_each_simd_target([&](const std::string& target) {
    const WinogradShape& s = problem.shape;
    CAPTURE(bf16, s.tile, target, s.batch, s.in_channels, s.out_channels, s.in_height, s.in_width,
            s.padding, problem.magnitude);
    CHECK(operands.forward());
    operands.backward();
    CHECK(relative_error(operands.output, exact.output) < bounds.activations);
    CHECK(relative_error(operands.grad_input, exact.grad_input) < bounds.activations);
    CHECK(relative_error(operands.grad_weights, exact.grad_weights) < bounds.grad_weights);
    CHECK(relative_error(operands.grad_bias, exact.grad_bias) < 1e-6);
  });
}

}  // namespace

// In bf16 the rounding of activations is all that it costs.
TEST_CASE("Winograd: forward and gradients against double precision", "[winograd]") {
  for (const int tile : {2, 4, 6}) {
    const double tolerance = tile == 2 ? 1e-6 : (tile == 4 ? 4e-6 : 1.2e-5);
    for (const Problem& problem : problems(tile)) {
      check_against_double(problem, false, {tolerance, tolerance});
      check_against_double(problem, true, {0.0025, tolerance});
    }
  }
}

TEST_CASE("Winograd: a bf16 NaN stays one whatever its bits are", "[winograd]") {
  Operands operands(Problem{{1, 16, 16, 8, 8, 1, 4, true}, false, true});
  std::uint32_t bits = 0x7FFFFFFF;  // rounding it up as a number would give -0
  std::memcpy(&operands.bias[3], &bits, sizeof bits);
  bits = 0x7F800001;  // only lower bits: cut off, it would be infinite
  std::memcpy(&operands.bias[4], &bits, sizeof bits);
  operands.forward();
  CHECK(std::isnan(operands.output[3]));
  CHECK(std::isnan(operands.output[4]));
  CHECK_FALSE(std::isnan(operands.output[5]));
}

TEST_CASE("Winograd: the same bits for any number of threads", "[winograd]") {
  const int threads = omp_get_max_threads();
  for (const Int extent : {9, 60}) {
    std::vector<std::vector<float>> first;
    for (const int count : {1, 2, 5}) {
      omp_set_num_threads(count);
      Operands operands(Problem{{1, 40, 270, extent, extent, 1, 4}});
      operands.forward();
      operands.backward();
      std::vector<std::vector<float>> all;
      for (Floats* floats :
           {&operands.output, &operands.grad_input, &operands.grad_weights, &operands.grad_bias}) {
        all.emplace_back(floats->data(), floats->data() + floats->size());
      }
      if (first.empty()) first = all;
      CAPTURE(extent, count);
      CHECK(all == first);
    }
  }
  omp_set_num_threads(threads);
}

TEST_CASE("Winograd: what is not finite spreads to all that it touches", "[winograd]") {
  for (const int tile : {2, 4, 6}) {
    for (const float value : {kNan, kInfinity, -kInfinity}) {
      CAPTURE(tile, value);
      Operands operands(Problem{{1, 20, 24, 14, 15, 1, tile}, false, false});
      const Int y = 6;
      const Int x = 8;
      operands.input[static_cast<std::size_t>((y * 15 + x) * 20 + 3)] = value;
      operands.gradient[static_cast<std::size_t>((y * 15 + x) * 24 + 5)] = value;
      operands.forward();
      operands.backward();
      for (Int near_y = y - 1; near_y <= y + 1; ++near_y) {
        for (Int near_x = x - 1; near_x <= x + 1; ++near_x) {
          const auto pixel = static_cast<std::size_t>(near_y * 15 + near_x);
          for (std::size_t c = 0; c < 24; ++c) {
            CHECK_FALSE(std::isfinite(operands.output[pixel * 24 + c]));
          }
          for (std::size_t c = 0; c < 20; ++c) {
            CHECK_FALSE(std::isfinite(operands.grad_input[pixel * 20 + c]));
          }
        }
      }
      CHECK(std::isfinite(operands.output[0]));
      CHECK_FALSE(std::isfinite(operands.grad_bias[5]));
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t by_gradient = 20 * (45 + tap) + 7;  // output channel 5, any input
        const std::size_t by_input = 20 * (99 + tap) + 3;     // input channel 3, any output
        CHECK_FALSE(std::isfinite(operands.grad_weights[by_gradient]));
        CHECK_FALSE(std::isfinite(operands.grad_weights[by_input]));
      }
    }
  }
}

TEST_CASE(
    "Winograd: a NaN in front of the ReLU stays one, and one behind it lets gradients through",
    "[winograd]") {
  Operands operands(Problem{{1, 16, 16, 8, 8, 1, 4}, true, true});
  operands.input[0] = kNan;
  std::fill(operands.activated.data(), operands.activated.data() + operands.activated.size(), kNan);
  operands.forward();
  operands.backward();
  CHECK(std::isnan(operands.output[0]));
  operands.p.masked = false;
  const std::vector<float> masked(operands.grad_input.data(),
                                  operands.grad_input.data() + operands.grad_input.size());
  operands.backward();
  CHECK(std::equal(masked.begin(), masked.end(), operands.grad_input.data()));
}

TEST_CASE("Winograd: weights whose transforms leave float's range are told", "[winograd]") {
  for (const int tile : {2, 4, 6}) {
    CAPTURE(tile);
    Operands operands(Problem{{1, 16, 16, 8, 8, 1, tile}});
    std::fill(operands.scale.data(), operands.scale.data() + 16, 1.0F);
    CHECK(operands.forward());
    // All alike, the points 1 and 1/2 add them up; tiles of 4x4 divide by more than there is.
    std::fill(operands.weights.data(), operands.weights.data() + operands.weights.size(), 3e38F);
    CHECK(operands.forward() == (tile == 4));
    // Signs that alternate from pixel to pixel, which is where the points -1 and -1/2 look; and
    // without the last column infinity meets infinity.
    for (const std::size_t columns : {3, 2}) {
      for (std::size_t i = 0; i < operands.weights.size(); ++i) {
        const std::size_t tap = i / 16 % 9;
        const float value = tap % 3 < columns ? 3e38F : 0;
        operands.weights[i] = tap % 2 == 0 ? value : -value;
      }
      CHECK_FALSE(operands.forward());
    }
    // Those that were not finite before are no fault of the transform.
    std::fill(operands.weights.data(), operands.weights.data() + operands.weights.size(), kNan);
    CHECK(operands.forward());
    // Nor do they hide one beside them: of the same output channel, and of the same input channel.
    for (const std::size_t kernel : {std::size_t{1}, std::size_t{16} * 9}) {
      std::fill(operands.weights.data(), operands.weights.data() + operands.weights.size(), 0.0F);
      operands.weights[0] = kNan;
      CHECK(operands.forward());
      for (std::size_t tap = 0; tap < 9; ++tap) {
        operands.weights[kernel + tap * 16] = tap % 2 == 0 ? 3e38F : -3e38F;
      }
      CHECK_FALSE(operands.forward());
    }
  }
}
