// Grouped convolutions against double precision, in all instruction sets.
#include "kernels/convolution/grouped.hpp"

#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::size_t inputs_of(const GroupedConvShape& s) {
  return static_cast<std::size_t>(s.batch * s.in_height * s.in_width * s.channels);
}
std::size_t outputs_of(const GroupedConvShape& s) {
  return static_cast<std::size_t>(s.batch * s.out_height() * s.out_width() * s.channels);
}

struct Operands {
  explicit Operands(const GroupedConvShape& s)
      : shape(s),
        input(inputs_of(s)),
        weights(packed_weight_count(s)),
        scale(static_cast<std::size_t>(s.channels)),
        bias(static_cast<std::size_t>(s.channels)),
        gradient(outputs_of(s)),
        activated(outputs_of(s)),
        output(outputs_of(s)),
        grad_input(inputs_of(s)),
        grad_weights(packed_weight_count(s)) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (Floats* values : {&input, &weights, &scale, &bias, &gradient, &activated}) {
      // Values that bf16 has, too.
      std::generate_n(values->data(), values->size(),
                      [&] { return harness::tests::nearest_bf16(normal(generator)); });
    }
  }

  void forward(bool relu) {
    Floats packed = pack(false);
    grouped_forward(shape, input.data(), packed.data(), bias.data(), relu, output.data());
    CHECK(output.intact());
  }
  void backward(bool masked, bool bf16 = false) {
    Floats packed = pack(true);
    const float* const mask = masked ? activated.data() : nullptr;
    grouped_backward_data(shape, gradient.data(), mask, packed.data(), grad_input.data());
    if (bf16) {
      harness::tests::Narrow x = narrow(input);
      harness::tests::Narrow dy = narrow(gradient);
      harness::tests::Narrow y = narrow(activated);
      grouped_backward_weights(shape, true, x.data(), dy.data(), masked ? y.data() : nullptr,
                               scale.data(), grad_weights.data());
    } else {
      grouped_backward_weights(shape, false, input.data(), gradient.data(), mask, scale.data(),
                               grad_weights.data());
    }
    CHECK(grad_input.intact());
    CHECK(grad_weights.intact());
  }

  GroupedConvShape shape;
  Floats input, weights, scale, bias, gradient, activated;
  Floats output, grad_input, grad_weights;

 private:
  Floats pack(bool for_data) {
    Floats packed(packed_weight_count(shape));
    pack_grouped_weights(shape, weights.data(), scale.data(), for_data, packed.data());
    CHECK(packed.intact());
    return packed;
  }
  static harness::tests::Narrow narrow(Floats& values) {
    harness::tests::Narrow bits(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      bits.data()[i] = harness::tests::bf16_bits(values[i]);
    }
    return bits;
  }
};

/// The same in double precision, one multiplication after another.
struct Exact {
  Exact(Operands& o, bool relu, bool masked)
      : output(o.output.size()), grad_input(o.input.size()), grad_weights(o.weights.size()) {
    const GroupedConvShape& s = o.shape;
    const Int group = s.group_channels;
    for (Int at = 0; at < static_cast<Int>(output.size()); ++at) {
      const auto i = static_cast<std::size_t>(at);
      const Int c = at % s.channels;
      const Int x = at / s.channels % s.out_width();
      const Int y = at / s.channels / s.out_width() % s.out_height();
      const Int image = at / s.channels / s.out_width() / s.out_height();
      double sum = o.bias[static_cast<std::size_t>(c)];
      const double gradient = !masked || o.activated[i] > 0 ? o.gradient[i] : 0;
      for (Int tap = 0; tap < 9; ++tap) {
        const Int in_y = y * s.stride + tap / 3 - 1;
        const Int in_x = x * s.stride + tap % 3 - 1;
        if (in_y < 0 || in_y >= s.in_height || in_x < 0 || in_x >= s.in_width) continue;
        for (Int k = 0; k < group; ++k) {
          const auto from = static_cast<std::size_t>(
              ((image * s.in_height + in_y) * s.in_width + in_x) * s.channels + c / group * group +
              k);
          const auto w = static_cast<std::size_t>((c * 9 + tap) * group + k);
          const double scale = o.scale[static_cast<std::size_t>(c)];
          const double weight = o.weights[w] * scale;
          sum += o.input[from] * weight;
          grad_input[from] += gradient * weight;
          grad_weights[w] += gradient * o.input[from] * scale;
        }
      }
      output[i] = relu ? std::max(sum, 0.0) : sum;
    }
  }

  std::vector<double> output, grad_input, grad_weights;
};

}  // namespace

TEST_CASE("grouped convolutions equal those of double precision, of any size", "[grouped]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    for (const Int group : {4, 8, 16, 32}) {
      for (const Int stride : {1, 2}) {
        // All lengths of a run, and rows of several.
        for (Int width = 1; width < 33; width += width < 16 ? 1 : 5) {
          // Beyond 32 written rows there are two tasks.
          const Int height = width == 3 ? 35 * stride : width % 4 + 1;
          const bool even = width % 2 == 0;
          Operands operands({1 + width % 2, group == 32 ? 64 : 32, height, width, group, stride});
          operands.forward(even);
          operands.backward(even, width % 3 == 0);
          const Exact exact(operands, even, even);
          INFO(target << ": " << group << " a group, " << height << "x" << width << ", stride "
                      << stride);
          CHECK(relative_error(operands.output, exact.output) < 1e-6);
          CHECK(relative_error(operands.grad_input, exact.grad_input) < 1e-6);
          CHECK(relative_error(operands.grad_weights, exact.grad_weights) < 1e-6);
        }
      }
    }
  });
}

TEST_CASE("infinities and NaN reach what reads them and nothing else", "[grouped]") {
  const float what = GENERATE(kNan, std::numeric_limits<float>::infinity());
  harness::tests::for_each_simd_target([&](const std::string& target) {
    for (const Int group : {4, 8, 16, 32}) {
      for (const Int stride : {1, 2}) {
        INFO(target << ": " << group << " a group, stride " << stride);
        Operands operands({2, 64, 7, 12, group, stride});
        const Int channel = 37;
        operands.input[static_cast<std::size_t>((Int{7 + 4} * 12 + 5) * 64 + channel)] = what;
        operands.forward(true);
        const Int out_height = operands.shape.out_height();
        const Int out_width = operands.shape.out_width();
        for (std::size_t i = 0; i < operands.output.size(); ++i) {
          const auto at = static_cast<Int>(i);
          const Int c = at % 64;
          const Int x = at / 64 % out_width;
          const Int y = at / 64 / out_width % out_height;
          const bool reads = at / 64 / out_width / out_height == 1 &&
                             c / group == channel / group && std::abs(y * stride - 4) <= 1 &&
                             std::abs(x * stride - 5) <= 1;
          // A ReLU makes 0 of what is infinite below.
          if (!reads) REQUIRE(std::isfinite(operands.output[i]));
          if (reads && std::isnan(what)) REQUIRE(std::isnan(operands.output[i]));
        }
        // A mask that is no number lets through, as the reference's does.
        std::fill_n(operands.activated.data(), operands.activated.size(), 0.0F);
        operands.activated[0] = kNan;
        operands.backward(true);
        CHECK(operands.grad_input[0] != 0);
        CHECK(operands.grad_input[operands.grad_input.size() - 1] == 0);
      }
    }
  });
}

TEST_CASE("the bits of a grouped convolution do not depend on the number of threads", "[grouped]") {
  const int before = omp_get_max_threads();
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 5}) {
    omp_set_num_threads(threads);
    Operands operands({2, 64, 41, 9, 8, 1});
    operands.forward(false);
    operands.backward(true);
    std::vector<float> bits;
    for (Floats* values : {&operands.output, &operands.grad_input, &operands.grad_weights}) {
      bits.insert(bits.end(), values->data(), values->data() + values->size());
    }
    if (first.empty()) first = bits;
    CHECK(first == bits);
  }
  omp_set_num_threads(before);
}

TEST_CASE("what has no grouped kernel", "[grouped]") {
  CHECK(grouped_conv_supported({1, 64, 5, 5, 32, 2}));
  CHECK_FALSE(grouped_conv_supported({1, 60, 5, 5, 4, 1}));
  CHECK_FALSE(grouped_conv_supported({1, 48, 5, 5, 32, 1}));
  CHECK_FALSE(grouped_conv_supported({1, 64, 5, 5, 2, 1}));
  CHECK_FALSE(grouped_conv_supported({1, 64, 5, 5, 64, 1}));
  CHECK_FALSE(grouped_conv_supported({1, 64, 5, 5, 8, 3}));
}
