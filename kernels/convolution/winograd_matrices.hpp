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

/// One dimension of F(m, 3): m outputs y[i] = sum over k of w[k] x[i + k] from n = m + 2 inputs
/// with n multiplications: y = output ((weights w) * (input x)), the product element by element.
/// With the same transformed inputs the gradient by the weights, dw[k] = sum over i of dy[i] x[i +
/// k], is weights_gradient ((output_gradient dy) * (input x)). In two dimensions each is applied to
/// rows and columns.
struct WinogradMatrices {
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

/// By Gauss and Jordan. Precondition: there is an inverse.
constexpr FractionMatrix inverse_of(FractionMatrix matrix) {
  const std::size_t n = matrix.size();
  FractionMatrix inverse(n, std::vector<Fraction>(n));
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    while (matrix[pivot][column] == Fraction(0)) ++pivot;
    std::swap(matrix[pivot], matrix[column]);
    std::swap(inverse[pivot], inverse[column]);
    const Fraction scale = Fraction(1) / matrix[column][column];
    for (std::size_t j = 0; j < n; ++j) {
      matrix[column][j] = matrix[column][j] * scale;
      inverse[column][j] = inverse[column][j] * scale;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (i == column) continue;
      const Fraction share = matrix[i][column];
      for (std::size_t j = 0; j < n; ++j) {
        matrix[i][j] = matrix[i][j] - share * matrix[column][j];
        inverse[i][j] = inverse[i][j] - share * inverse[column][j];
      }
    }
  }
  return inverse;
}

constexpr std::int64_t odd_part(std::int64_t number) {
  while (number != 0 && number % 2 == 0) number /= 2;
  return number;
}

/// What turns the row's elements into sums of powers of 2, as small as can be, the largest of them
/// at least 1 and below 2.
constexpr Fraction scale_of(const std::vector<Fraction>& row) {
  std::int64_t over = 1;
  std::int64_t under = 0;
  double largest = 0;
  for (const Fraction& element : row) {
    over = std::lcm(over, odd_part(element.denominator()));
    under = std::gcd(under, odd_part(element.numerator()));
    largest = std::max({largest, element.value(), -element.value()});
  }
  Fraction scale(over, under);
  largest *= scale.value();
  for (; largest < 1; largest *= 2) scale = scale * 2;
  for (; largest >= 2; largest /= 2) scale = scale / 2;
  return scale;
}

}  // namespace winograd_detail

/// For m + 1 finite points, all different, to which infinity is added; m is at least 1. The points
/// decide how exact float32 is: 0, 1, -1 for m = 2; 0, 1, -1, 2, -1/2 for m = 4.
/// Source: Toom's and Cook's product of polynomials, transposed (Winograd 1980). The rows of
/// `input` are scaled, and `weights` and `weights_gradient` by the inverse, so that with points
/// whose denominators are powers of 2 `input`, `output` and `output_gradient` are exact in float32,
/// and the largest element of each row of `input` is at least 1 and below 2.
constexpr WinogradMatrices winograd_matrices(const std::vector<Fraction>& points) {
  constexpr std::size_t kWeights = 3;
  // A product of polynomials with coefficients w and u has the coefficients C ((E3 w) * (Em u)),
  // where Ek holds the powers of the points and C is the inverse of En. Filtering is its transpose
  // in u: y = Em^T ((E3 w) * (C^T x)), and in w: dw = E3^T ((Em dy) * (C^T x)).
  const std::size_t n = points.size() + 1;
  if (n < kWeights) throw std::invalid_argument("fewer points than an output needs");
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (points[i] == points[j]) throw std::invalid_argument("a point stands twice");
    }
  }
  WinogradMatrices matrices;
  matrices.input = winograd_detail::transposed(
      winograd_detail::inverse_of(winograd_detail::powers_of(points, n)));
  matrices.weights = winograd_detail::powers_of(points, kWeights);
  matrices.output_gradient = winograd_detail::powers_of(points, n - kWeights + 1);
  matrices.output = winograd_detail::transposed(matrices.output_gradient);
  matrices.weights_gradient = winograd_detail::transposed(matrices.weights);
  for (std::size_t i = 0; i < n; ++i) {
    const Fraction scale = winograd_detail::scale_of(matrices.input[i]);
    for (Fraction& element : matrices.input[i]) element = element * scale;
    for (Fraction& element : matrices.weights[i]) element = element / scale;
    for (auto& row : matrices.weights_gradient) row[i] = row[i] / scale;
  }
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
