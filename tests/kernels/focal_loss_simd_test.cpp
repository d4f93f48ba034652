// The focal loss's vector arithmetic on its own: no LibTorch, no test framework, so that it can be
// compiled for another processor and run under an emulator. Prints one line per instruction set;
// ends with 1 when a bound is broken.
#include "kernels/focal_loss/focal_loss_simd.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include "tests/support/simd_targets.hpp"

namespace focal = harness::kernels::focal;

namespace {

bool failed = false;

void require_at_most(const char* what, double value, double bound) {
  std::printf("  %-34s %8.3f (at most %g)%s\n", what, value, bound,
              value <= bound ? "" : "  BROKEN");
  if (!(value <= bound)) failed = true;
}

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Every `stride`-th float from 0 to `largest`, with both signs.
std::vector<float> floats_up_to(float largest, std::uint32_t stride) {
  std::vector<float> values;
  const auto last = std::bit_cast<std::uint32_t>(largest);
  for (std::uint32_t bits = 0; bits <= last; bits += stride) {
    values.push_back(float_of(bits));
    values.push_back(-float_of(bits));
  }
  values.push_back(largest);
  values.push_back(-largest);
  return values;
}

/// In units of the last place of the float nearest to `exact`.
double ulps(double value, double exact) {
  const auto nearest = static_cast<float>(exact);
  const double ulp =
      static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity())) -
      static_cast<double>(nearest);
  return std::abs(value - exact) / ulp;
}

void check_exp_and_log(std::uint32_t stride) {
  // Below the least normal float there is nothing to be accurate about.
  const std::vector<float> x = floats_up_to(87.336F, stride);
  std::vector<float> e(x.size());
  std::vector<float> l(x.size());
  focal::exp_and_log(x.data(), e.data(), l.data(), static_cast<std::int64_t>(x.size()));
  double worst_exp = 0;
  double worst_log = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(-std::abs(static_cast<double>(x[i])));
    worst_exp = std::max(worst_exp, ulps(e[i], exact));
    worst_log = std::max(worst_log, ulps(l[i], std::log1p(exact)));
  }
  require_at_most("exp(-|x|), ulp", worst_exp, 5);
  require_at_most("log(1 + exp(-|x|)), ulp", worst_log, 8);

  const float far[] = {88, -88, 1e4F, -1e4F, std::numeric_limits<float>::max()};
  float far_exp[5];
  float far_log[5];
  focal::exp_and_log(far, far_exp, far_log, 5);
  const auto least = static_cast<double>(std::numeric_limits<float>::min());
  const double largest =
      std::max(*std::max_element(far_exp, far_exp + 5), *std::max_element(far_log, far_log + 5));
  require_at_most("beyond 88, least normal floats", largest / least, 1.0001);
  if (*std::min_element(far_exp, far_exp + 5) < 0) failed = true;
}

struct Exact {
  double loss;
  double derivative;
};

/// The background term in double precision, from the paper's formulas.
Exact exact_term(double x, const focal::Term& term) {
  const double p = x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
  const double q = x < 0 ? 1 / (1 + std::exp(x)) : std::exp(-x) / (1 + std::exp(-x));
  const double log = x < 0 ? std::log1p(std::exp(x)) : x + std::log1p(std::exp(-x));
  const double power = term.weight * std::pow(p, term.gamma);
  return {power * log, power * (p + term.gamma * q * log)};
}

template <typename T>
double as_double(T value);
template <>
double as_double(float value) {
  return value;
}
template <>
double as_double(std::uint16_t bits) {
  return float_of(static_cast<std::uint32_t>(bits) << 16);
}

float as_logit(float value, float) { return value; }
std::uint16_t as_logit(float value, std::uint16_t) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

/// Relative errors of the sum and of the worst derivative, from where both are normal floats up to
/// 60.
template <typename T>
void check_terms(const focal::Term& term, double sum_bound, double derivative_bound) {
  std::vector<T> x;
  for (double value = -84 / (term.gamma + 1); value < 60; value += 1.0 / 512) {
    x.push_back(as_logit(static_cast<float>(value), T()));
  }
  std::vector<T> gradient(x.size());
  const double sum = focal::background_loss(x.data(), gradient.data(),
                                            static_cast<std::int64_t>(x.size()), 5, term, true);
  focal::fence();
  double exact_sum = 0;
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Exact exact = exact_term(as_double(x[i]), term);
    exact_sum += exact.loss;
    worst = std::max(worst, std::abs(as_double(gradient[i]) - exact.derivative) / exact.derivative);
  }
  char name[64];
  std::snprintf(name, sizeof name, "%s gamma %g, sum, 1e-7", sizeof(T) == 4 ? "fp32" : "bf16",
                term.gamma);
  require_at_most(name, std::abs(sum - exact_sum) / exact_sum * 1e7, sum_bound);
  std::snprintf(name, sizeof name, "%s gamma %g, derivative, 1e-7",
                sizeof(T) == 4 ? "fp32" : "bf16", term.gamma);
  require_at_most(name, worst * 1e7, derivative_bound);
}

/// For every bf16 there is: the derivative is that of the float, rounded to nearest even.
void check_rounding(const focal::Term& term) {
  constexpr std::int64_t kCount = 1 << 16;
  std::vector<std::uint16_t> x(kCount);
  std::vector<float> wide(kCount);
  for (std::uint32_t bits = 0; bits < kCount; ++bits) {
    x[bits] = static_cast<std::uint16_t>(bits);
    wide[bits] = float_of(bits << 16);
  }
  std::vector<std::uint16_t> gradient(kCount);
  std::vector<float> exact(kCount);
  focal::background_loss(x.data(), gradient.data(), kCount, 0, term, false);
  focal::background_loss(wide.data(), exact.data(), kCount, 0, term, false);
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float value = float_of(static_cast<std::uint32_t>(gradient[i]) << 16);
    const float below = float_of(std::bit_cast<std::uint32_t>(exact[i]) & 0xFFFF0000U);
    const float above = float_of(std::bit_cast<std::uint32_t>(below) + 0x10000U);
    // Exact in double; where both are as near, the even one.
    const double down = static_cast<double>(exact[i]) - static_cast<double>(below);
    const double up = static_cast<double>(above) - static_cast<double>(exact[i]);
    const bool odd = (std::bit_cast<std::uint32_t>(below) >> 16 & 1) != 0;
    const bool stays =
        std::isinf(exact[i]) || std::abs(down) < std::abs(up) || (down == up && !odd);
    const float nearest = stays ? below : above;
    const bool right = std::isnan(exact[i]) ? std::isnan(value) : value == nearest;
    wrong += right ? 0 : 1;
  }
  char name[64];
  std::snprintf(name, sizeof name, "bf16 gamma %g, rounded wrongly", term.gamma);
  require_at_most(name, wrong, 0);
}

/// What lies around the range stays as it is, wherever it begins and ends.
template <typename T>
void check_ends() {
  for (std::int64_t begin = 0; begin < 40; begin += 3) {
    for (std::int64_t count = 0; count < 300; count += 7) {
      std::vector<T> x(400, as_logit(-1.5F, T()));
      std::vector<T> gradient(400, T(7));
      focal::background_loss(x.data() + begin, gradient.data() + begin, count, begin, {}, false);
      for (std::int64_t i = 0; i < 400; ++i) {
        const bool inside = i >= begin && i < begin + count;
        if ((gradient[static_cast<std::size_t>(i)] == T(7)) == inside) {
          std::printf("  element %lld of range %lld + %lld: BROKEN\n", static_cast<long long>(i),
                      static_cast<long long>(begin), static_cast<long long>(count));
          failed = true;
          return;
        }
      }
    }
  }
}

}  // namespace

/// usage: focal_loss_simd_test [STRIDE]   every STRIDE-th float is tried, default 997
int main(int argc, char** argv) {
  const auto stride = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 997);
  harness::tests::for_each_simd_target([&](const std::string& name) {
    std::printf("%s\n", name.c_str());
    if (focal::instruction_set() != name) {
      std::printf("  %s ran instead: BROKEN\n", focal::instruction_set().c_str());
      failed = true;
    }
    check_exp_and_log(stride);
    for (const double gamma : {0.0, 0.5, 1.0, 2.0, 3.0}) {
      check_terms<float>({0.75, gamma}, 3, 25);
      check_terms<std::uint16_t>({0.75, gamma}, 3, 1.001e7 / 256);
    }
    for (const double gamma : {0.5, 2.0}) check_rounding({0.75, gamma});
    check_ends<float>();
    check_ends<std::uint16_t>();
  });
  std::printf("%s\n", failed ? "FAILED" : "passed");
  return failed ? 1 : 0;
}
