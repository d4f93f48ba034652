// The matrices of Winograd's minimal filtering for 3x3 kernels of stride 1, made exactly, by the
// compiler where a kernel asks for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace harness::kernels {

/// p / q in lowest terms, q > 0. Throws std::overflow_error where 64 bits do not hold it.
class Fraction {
 public:
  constexpr Fraction(std::int64_t numerator = 0)
      : numerator_(numerator) {}  // NOLINT(google-explicit-constructor)
  constexpr Fraction(std::int64_t numerator, std::int64_t denominator) {
    if (denominator == 0) throw std::invalid_argument("a fraction of nothing");
    const std::int64_t common = std::gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
    numerator_ = numerator / common;
    denominator_ = denominator / common;
  }

  constexpr std::int64_t numerator() const { return numerator_; }
  constexpr std::int64_t denominator() const { return denominator_; }
  constexpr double value() const {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }
  constexpr bool operator==(const Fraction&) const = default;
  constexpr Fraction operator+(const Fraction& other) const {
    return {plus(times(numerator_, other.denominator_), times(other.numerator_, denominator_)),
            times(denominator_, other.denominator_)};
  }
  constexpr Fraction operator-(const Fraction& other) const { return *this + other * Fraction(-1); }
  constexpr Fraction operator*(const Fraction& other) const {
    return {times(numerator_, other.numerator_), times(denominator_, other.denominator_)};
  }
  /// Precondition: other is not 0.
  constexpr Fraction operator/(const Fraction& other) const {
    return {times(numerator_, other.denominator_), times(denominator_, other.numerator_)};
  }

 private:
  static constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) {
      throw std::overflow_error("a fraction of more than 64 bits");
    }
    return product;
  }
  static constexpr std::int64_t plus(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
      throw std::overflow_error("a fraction of more than 64 bits");
    }
    return sum;
  }

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
};

using FractionMatrix = std::vector<std::vector<Fraction>>;  ///< rows

/// A matrix as second x first, which take fewer operations than it does.
struct WinogradFactors {
  FractionMatrix first{}, second{};
};

/// One dimension of F(m, 3): m outputs y[i] = sum over k of w[k] x[i + k] from n = m + 2 inputs
/// with n multiplications: y = output ((weights w) * (input x)), the product element by element.
/// With the same transformed inputs the gradient by the weights, dw[k] = sum over i of dy[i] x[i +
/// k], is weights_gradient ((output_gradient dy) * (input x)). In two dimensions each is applied to
/// rows and columns.
struct WinogradMatrices {
  WinogradFactors input_factors{}, output_factors{};
  FractionMatrix input{};             ///< n x n, B^T
  FractionMatrix weights{};           ///< n x 3, G
  FractionMatrix output{};            ///< m x n, A^T
  FractionMatrix output_gradient{};   ///< n x m, A
  FractionMatrix weights_gradient{};  ///< 3 x n
};

namespace winograd_detail {

/// n rows of the powers 0 to columns - 1 of each point; the last row is that of infinity.
constexpr FractionMatrix powers_of(const std::vector<Fraction>& points, std::size_t columns) {
  FractionMatrix rows;
  for (const Fraction& point : points) {
    std::vector<Fraction>& row = rows.emplace_back();
    Fraction power = 1;
    for (std::size_t i = 0; i < columns; ++i, power = power * point) row.push_back(power);
  }
  rows.emplace_back(columns, Fraction(0)).back() = 1;
  return rows;
}

constexpr FractionMatrix transposed(const FractionMatrix& matrix) {
  FractionMatrix result(matrix.front().size(), std::vector<Fraction>(matrix.size()));
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < matrix[i].size(); ++j) result[j][i] = matrix[i][j];
  }
  return result;
}

constexpr FractionMatrix product_of(const FractionMatrix& a, const FractionMatrix& b) {
  FractionMatrix result(a.size(), std::vector<Fraction>(b.front().size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t j = 0; j < b[k].size(); ++j) {
        result[i][j] = result[i][j] + a[i][k] * b[k][j];
      }
    }
  }
  return result;
}

constexpr FractionMatrix identity_of(std::size_t size) {
  FractionMatrix result(size, std::vector<Fraction>(size));
  for (std::size_t i = 0; i < size; ++i) result[i][i] = 1;
  return result;
}

/// A polynomial's coefficients, the constant first.
using Polynomial = std::vector<Fraction>;

/// The product of t - point over all points but those `left_out`.
constexpr Polynomial polynomial_of(const std::vector<Fraction>& points,
                                   const std::vector<std::size_t>& left_out) {
  Polynomial result = {1};
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::find(left_out.begin(), left_out.end(), i) != left_out.end()) continue;
    Polynomial next(result.size() + 1);
    for (std::size_t k = 0; k < result.size(); ++k) {
      next[k + 1] = next[k + 1] + result[k];
      next[k] = next[k] - result[k] * points[i];
    }
    result = std::move(next);
  }
  return result;
}

/// The finite points but 0 two by two: each with its negative where that is there,
/// the others as they come. Empty where 0 is not the first or one is left over.
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
constexpr Pairs pairs_of(const std::vector<Fraction>& points) {
  if (!(points[0] == Fraction(0)) || points.size() % 2 == 0) return {};
  Pairs pairs;
  const auto taken = [&pairs](std::size_t point) {
    return std::any_of(pairs.begin(), pairs.end(), [point](const auto& pair) {
      return pair.first == point || pair.second == point;
    });
  };
  for (const bool negatives : {true, false}) {
    for (std::size_t i = 1; i < points.size(); ++i) {
      for (std::size_t j = i + 1; j < points.size(); ++j) {
        if (taken(i) || taken(j)) continue;
        if (negatives && !(points[i] + points[j] == Fraction(0))) continue;
        pairs.emplace_back(i, j);
      }
    }
  }
  return pairs;
}

/// Row i of `input` is the polynomial whose zeros are all finite points but point i, and the last
/// row that of all. Rows share the zeros of all other pairs: `first` applies these to the inputs,
/// for each pair and begun at input 1 and 2 (for the first pair at 0 and 3 too), and `second` what
/// is left of the pair.
constexpr WinogradFactors input_factors(const std::vector<Fraction>& points) {
  const std::size_t n = points.size() + 1;
  const Pairs pairs = pairs_of(points);
  FractionMatrix first;
  FractionMatrix second(n, std::vector<Fraction>(n));
  for (const auto& [one, other] : pairs) {
    const bool is_first = first.empty();
    const Polynomial shared = polynomial_of(points, {0, one, other});
    for (std::size_t shift = is_first ? 0 : 1; shift < (is_first ? 4 : 3); ++shift) {
      std::vector<Fraction>& row = first.emplace_back(n);
      for (std::size_t k = 0; k < shared.size(); ++k) row[shift + k] = shared[k];
    }
    const std::size_t at_1 = is_first ? 1 : first.size() - 2;
    second[one][at_1 + 1] = second[other][at_1 + 1] = 1;
    second[one][at_1] = points[other] * Fraction(-1);
    second[other][at_1] = points[one] * Fraction(-1);
    if (!is_first) continue;
    const Polynomial pair = polynomial_of({points[one], points[other]}, {});
    for (std::size_t k = 0; k < pair.size(); ++k) {
      second[0][k] = pair[k];
      second[n - 1][k + 1] = pair[k];
    }
  }
  if (!pairs.empty()) return {first, second};
  for (std::size_t i = 0; i < n; ++i) {
    const Polynomial row = polynomial_of(points, {i});
    std::copy(row.begin(), row.end(), second[i].begin());
  }
  return {identity_of(n), second};
}

/// `output` has the powers of the points: `first` adds and subtracts what belongs to a point and
/// its negative, since even powers are of their sum and odd ones of their difference.
constexpr WinogradFactors output_factors(const std::vector<Fraction>& points,
                                         FractionMatrix output) {
  FractionMatrix first = identity_of(output.front().size());
  for (const auto& [one, other] : pairs_of(points)) {
    if (!(points[one] + points[other] == Fraction(0))) continue;
    first[one][other] = first[other][one] = 1;
    first[other][other] = -1;
    for (std::size_t power = 0; power < output.size(); ++power) {
      const Fraction factor = output[power][one];
      output[power][one] = power % 2 == 0 ? factor : 0;
      output[power][other] = power % 2 == 0 ? 0 : factor;
    }
  }
  return {first, output};
}

}  // namespace winograd_detail

/// For m + 1 finite points, all different, to which infinity is added; m is at least 1. The points
/// decide how exact float32 is: 0, 1, -1 for m = 2; 0, 1, -1, 2, -1/2 for m = 4.
/// Source: Toom's and Cook's product of polynomials, transposed (Winograd 1980), in Lagrange's
/// form: what an interpolation divides by stands with the weights, so that with points whose
/// denominators are powers of 2 `input`, `output` and `output_gradient` are exact in float32.
constexpr WinogradMatrices winograd_matrices(const std::vector<Fraction>& points) {
  constexpr std::size_t kWeights = 3;
  const std::size_t n = points.size() + 1;
  if (n < kWeights) throw std::invalid_argument("fewer points than an output needs");
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (points[i] == points[j]) throw std::invalid_argument("a point stands twice");
    }
  }
  // A product of polynomials with coefficients w and u has the coefficients C ((E3 w) * (Em u)),
  // where Ek holds the powers of the points and C is the inverse of En. Filtering is its transpose
  // in u: y = Em^T ((E3 w) * (C^T x)), and in w: dw = E3^T ((Em dy) * (C^T x)).
  WinogradMatrices matrices;
  matrices.weights = winograd_detail::powers_of(points, kWeights);
  matrices.output_gradient = winograd_detail::powers_of(points, n - kWeights + 1);
  matrices.output = winograd_detail::transposed(matrices.output_gradient);
  matrices.weights_gradient = winograd_detail::transposed(matrices.weights);
  for (std::size_t i = 0; i < points.size(); ++i) {
    Fraction divisor = 1;
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (j != i) divisor = divisor * (points[i] - points[j]);
    }
    for (Fraction& element : matrices.weights[i]) element = element / divisor;
    for (auto& row : matrices.weights_gradient) row[i] = row[i] / divisor;
  }
  matrices.input_factors = winograd_detail::input_factors(points);
  matrices.output_factors = winograd_detail::output_factors(points, matrices.output);
  matrices.input =
      winograd_detail::product_of(matrices.input_factors.second, matrices.input_factors.first);
  return matrices;
}

/// The most exact points known for m outputs (2, 4 or 6).
constexpr std::vector<Fraction> winograd_points(int outputs) {
  const std::vector<Fraction> points = {0, 1, -1, 2, {-1, 2}, -2, {1, 2}};
  if (outputs != 2 && outputs != 4 && outputs != 6) {
    throw std::invalid_argument("Winograd tiles have 2, 4 or 6 outputs");
  }
  return {points.begin(), points.begin() + outputs + 1};
}

}  // namespace harness::kernels
