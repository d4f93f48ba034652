// Depthwise convolutions against double precision, in all instruction sets.
#include "kernels/convolution/depthwise.hpp"

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

#include "tests/support/bf16.hpp"
#include "tests/support/guarded_floats.hpp"
#include "tests/support/simd_targets.hpp"

using namespace harness::kernels;  // NOLINT(google-build-using-namespace)

namespace {

using Int = std::int64_t;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::size_t count_of(const DepthwiseShape& s, Int height, Int width) {
  return static_cast<std::size_t>(s.batch * height * width * s.channels);
}

struct Operands {
  explicit Operands(const DepthwiseShape& s)
      : shape(s),
        input(count_of(s, s.in_height, s.in_width)),
        weights(static_cast<std::size_t>(9 * s.channels)),
        bias(static_cast<std::size_t>(s.channels)),
        output(count_of(s, s.out_height(), s.out_width())) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (Floats* values : {&input, &weights, &bias}) {
      std::generate_n(values->data(), values->size(), [&] { return normal(generator); });
    }
  }

  Depthwise convolution() {
    return {.shape = shape,
            .input = input.data(),
            .weights = weights.data(),
            .bias = bias.data(),
            .output = output.data()};
  }

  std::size_t input_at(Int picture, Int y, Int x, Int channel) const {
    const Int row = picture * shape.in_height + y;
    return static_cast<std::size_t>((row * shape.in_width + x) * shape.channels + channel);
  }

  /// Calls `visit(index of the output, picture, y, x, channel)` for each of them.
  template <class Visit>
  void for_each_output(const Visit& visit) const {
    std::size_t index = 0;
    for (Int picture = 0; picture < shape.batch; ++picture) {
      for (Int y = 0; y < shape.out_height(); ++y) {
        for (Int x = 0; x < shape.out_width(); ++x) {
          for (Int c = 0; c < shape.channels; ++c) visit(index++, picture, y, x, c);
        }
      }
    }
  }

  /// Before any limit.
  double exact(Int picture, Int y, Int x, Int channel) {
    double sum = bias[static_cast<std::size_t>(channel)];
    for (Int tap = 0; tap < 9; ++tap) {
      const Int from_y = y * shape.stride - 1 + tap / 3;
      const Int from_x = x * shape.stride - 1 + tap % 3;
      if (from_y < 0 || from_y >= shape.in_height || from_x < 0 || from_x >= shape.in_width) {
        continue;
      }
      const double by = weights[static_cast<std::size_t>(tap * shape.channels + channel)];
      sum += by * static_cast<double>(input[input_at(picture, from_y, from_x, channel)]);
    }
    return sum;
  }

  double worst_error() {
    double worst = 0;
    for_each_output([&](std::size_t index, Int picture, Int y, Int x, Int channel) {
      const double off =
          std::abs(static_cast<double>(output[index]) - exact(picture, y, x, channel));
      worst = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(worst, off);
    });
    return worst;
  }

  DepthwiseShape shape;
  Floats input, weights, bias, output;
};

/// One output of one channel whose weights are 1: the sum of what it reads.
float through(float low, float high, float x) {
  Operands operands({});
  std::fill_n(operands.weights.data(), 9, 1.0F);
  operands.input[0] = x;
  Depthwise convolution = operands.convolution();
  convolution.bias = nullptr;
  convolution.low = low;
  convolution.high = high;
  convolve_depthwise(convolution);
  CHECK(operands.output.intact());
  return operands.output[0];
}

}  // namespace

TEST_CASE("depthwise convolutions equal those of double precision, of any size", "[depthwise]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    for (const Int stride : {1, 2}) {
      for (const Int channels : {1, 3, 4, 15, 16, 17, 33, 72, 300}) {
        for (const Int width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13}) {
          for (const Int height : {1, 2, 3, 6}) {
            Operands operands({2, channels, height, width, stride});
            convolve_depthwise(operands.convolution());
            INFO(target << ": " << channels << " channels, " << height << "x" << width
                        << ", stride " << stride);
            CHECK(operands.worst_error() < 1e-5);
            CHECK(operands.output.intact());
          }
        }
      }
    }
  });
}

TEST_CASE("maps in bf16 give what rounded ones give, rounded", "[depthwise]") {
  using harness::tests::Narrow;
  harness::tests::for_each_simd_target([](const std::string& target) {
    for (const Int stride : {1, 2}) {
      for (const Int channels : {1, 15, 16, 17, 72, 300}) {
        for (const Int width : {1, 2, 5, 13}) {
          Operands operands({2, channels, 3, width, stride});
          Narrow input(operands.input.size());
          for (std::size_t i = 0; i < operands.input.size(); ++i) {
            operands.input[i] = harness::tests::nearest_bf16(operands.input[i]);
            input.data()[i] = harness::tests::bf16_bits(operands.input[i]);
          }
          Depthwise convolution = operands.convolution();
          convolution.high = 1.0F;
          convolve_depthwise(convolution);
          Narrow output(operands.output.size());
          convolution.narrow_input = input.data();
          convolution.narrow_output = output.data();
          convolve_depthwise(convolution);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < operands.output.size(); ++i) {
            if (output.data()[i] != harness::tests::bf16_bits(operands.output[i])) ++wrong;
          }
          INFO(target << ": " << channels << " channels, width " << width << ", stride " << stride);
          CHECK(wrong == 0);
          CHECK((output.intact() && input.intact()));
        }
      }
    }
  });
}

TEST_CASE("depthwise convolutions keep their limits and a NaN", "[depthwise]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    INFO(target);
    for (const float x : {-3e38F, -1.0F, 0.0F, 2.5F, 6.0F, 6.5F, 3e38F}) {
      CHECK(through(-kInfinity, kInfinity, x) == x);
      CHECK(through(0, kInfinity, x) == std::max(x, 0.0F));
      CHECK(through(0, 6, x) == std::min(std::max(x, 0.0F), 6.0F));
    }
    CHECK(through(0, 6, kInfinity) == 6.0F);
    CHECK(through(0, 6, -kInfinity) == 0.0F);
    CHECK(through(0, kInfinity, kInfinity) == kInfinity);
    CHECK(std::isnan(through(0, 6, kNan)));
  });
}

TEST_CASE("infinities and NaN reach the outputs that read them and no others", "[depthwise]") {
  const float what = GENERATE(kNan, kInfinity);
  harness::tests::for_each_simd_target([&](const std::string& target) {
    for (const Int stride : {1, 2}) {
      Operands operands({2, 19, 7, 10, stride});
      operands.input[operands.input_at(1, 4, 5, 17)] = what;
      convolve_depthwise(operands.convolution());
      INFO(target);
      operands.for_each_output([&](std::size_t index, Int picture, Int y, Int x, Int channel) {
        const bool reads = picture == 1 && channel == 17 && std::abs(y * stride - 4) <= 1 &&
                           std::abs(x * stride - 5) <= 1;
        REQUIRE(std::isfinite(operands.output[index]) == !reads);
      });
      // Of weights that lie beyond an edge nothing is seen.
      Operands edge({1, 19, 1, 1, stride});
      std::fill_n(edge.weights.data(), 4 * 19, what);
      convolve_depthwise(edge.convolution());
      CHECK(edge.worst_error() < 1e-5);
    }
  });
}

TEST_CASE("the bits of a depthwise convolution do not depend on the number of threads",
          "[depthwise]") {
  const int before = omp_get_max_threads();
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 5}) {
    omp_set_num_threads(threads);
    Operands operands({3, 600, 9, 7, 1});
    convolve_depthwise(operands.convolution());
    CHECK(operands.worst_error() < 1e-5);
    const std::vector<float> bits(operands.output.data(),
                                  operands.output.data() + operands.output.size());
    if (first.empty()) first = bits;
    CHECK(std::memcmp(first.data(), bits.data(), bits.size() * sizeof(float)) == 0);
  }
  omp_set_num_threads(before);
}
