// The matrices of Winograd's minimal filtering for 3x3 kernels of stride 1, made exactly.
#pragma once

#include <cstdint>
#include <vector>

namespace harness::kernels {

/// p / q in lowest terms, q > 0. Throws std::overflow_error where 64 bits do not hold it.
class Fraction {
 public:
  constexpr Fraction(std::int64_t numerator = 0)
      : numerator_(numerator) {}  // NOLINT(google-explicit-constructor)
  Fraction(std::int64_t numerator, std::int64_t denominator);

  std::int64_t numerator() const { return numerator_; }
  std::int64_t denominator() const { return denominator_; }
  double value() const;
  bool operator==(const Fraction&) const = default;
  Fraction operator+(const Fraction& other) const;
  Fraction operator-(const Fraction& other) const;
  Fraction operator*(const Fraction& other) const;
  Fraction operator/(const Fraction& other) const;  ///< other is not 0

 private:
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

/// For m + 1 finite points, all different, to which infinity is added; m is at least 1. The points
/// decide how exact float32 is: 0, 1, -1 for m = 2; 0, 1, -1, 2, -1/2 for m = 4.
/// Source: Toom's and Cook's product of polynomials, transposed (Winograd 1980). The rows of
/// `input` are scaled, and `weights` and `weights_gradient` by the inverse, so that with points
/// whose denominators are powers of 2 `input`, `output` and `output_gradient` are exact in float32,
/// and the largest element of each row of `input` is at least 1 and below 2.
WinogradMatrices winograd_matrices(const std::vector<Fraction>& points);

/// The most exact points known for m outputs (2, 4 or 6).
std::vector<Fraction> winograd_points(int outputs);

}  // namespace harness::kernels
