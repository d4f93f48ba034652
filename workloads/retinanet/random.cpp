#include "workloads/retinanet/random.hpp"

#include <cmath>

namespace harness::workloads {

double portable_log(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // [0.5, 1), exact
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 atanh((m-1)/(m+1)), |s| < 0.172: the series' terms fall by a factor of 34.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * s2;
  return exponent * kLn2 + 2 * s * (1 + sum);
}

double standard_normal(std::uint64_t key, std::uint64_t counter) {
  // Marsaglia's polar method: two samples a pair, rejected in 21 % of the tries. A pair has its own
  // stretch of 2^6 counters; needing more tries than it holds has a chance of 1e-21.
  const std::uint64_t first = (counter >> 1) << 6;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const std::uint64_t bits = splitmix64(key, first + attempt);
    const double u = static_cast<double>(bits >> 32) / 2147483648.0 - 1.0;
    const double v = static_cast<double>(bits & 0xFFFFFFFFULL) / 2147483648.0 - 1.0;
    const double s = u * u + v * v;
    if (s >= 1 || s == 0) continue;
    return ((counter & 1) != 0 ? v : u) * std::sqrt(-2 * portable_log(s) / s);
  }
}

}  // namespace harness::workloads
