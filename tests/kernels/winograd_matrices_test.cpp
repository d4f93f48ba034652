// Winograd's matrices filter exactly, whatever the points.
#include "kernels/convolution/winograd_matrices.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

using namespace harness::kernels;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kWeights = 3;

/// Whether y[i] depends on w[k] x[j] with factor 1 where j = i + k and not at all elsewhere, and so
/// does dw[k] on dy[i] x[j]. Exact.
bool filters(const WinogradMatrices& matrices) {
  const std::size_t n = matrices.input.size();
  for (std::size_t i = 0; i < matrices.output.size(); ++i) {
    for (std::size_t k = 0; k < kWeights; ++k) {
      for (std::size_t j = 0; j < n; ++j) {
        Fraction forward;
        Fraction backward;
        for (std::size_t p = 0; p < n; ++p) {
          forward = forward + matrices.output[i][p] * matrices.weights[p][k] * matrices.input[p][j];
          backward = backward + matrices.weights_gradient[k][p] * matrices.output_gradient[p][i] *
                                    matrices.input[p][j];
        }
        const Fraction wanted = j == i + k ? 1 : 0;
        if (!(forward == wanted) || !(backward == wanted)) return false;
      }
    }
  }
  return true;
}

bool exact_in_float(const FractionMatrix& matrix) {
  for (const auto& row : matrix) {
    for (const Fraction& element : row) {
      const auto rounded = static_cast<float>(element.value());
      if (static_cast<double>(rounded) != element.value()) return false;
      const auto denominator = static_cast<double>(element.denominator());
      if (std::exp2(std::round(std::log2(denominator))) != denominator) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("Winograd's matrices filter exactly", "[winograd]") {
  // The largest element, by which activations may come nearer to float's limit.
  for (const auto& [outputs, most] : {std::pair(2, 1.0), std::pair(4, 2.5), std::pair(6, 5.25)}) {
    CAPTURE(outputs);
    const WinogradMatrices matrices = winograd_matrices(winograd_points(outputs));
    CHECK(std::ssize(matrices.input) == outputs + 2);
    CHECK(std::ssize(matrices.output) == outputs);
    CHECK(filters(matrices));
    // What is applied to activations rounds nothing by itself.
    CHECK(exact_in_float(matrices.input));
    CHECK(exact_in_float(matrices.output));
    CHECK(exact_in_float(matrices.output_gradient));
    for (const auto& row : matrices.input) {
      double largest = 0;
      for (const Fraction& element : row) largest = std::max(largest, std::abs(element.value()));
      CHECK(largest >= 1);
      CHECK(largest <= most);
    }
  }
  // Other points, thirds among them, and a tile of one output.
  CHECK(filters(winograd_matrices({0, {1, 3}, {-2, 3}, 3})));
  CHECK(filters(winograd_matrices({0, 1})));
}

TEST_CASE("the factors of Winograd's matrices make them with fewer operations", "[winograd]") {
  // Of one row or column of a tile: an addition, with or without a factor, for each element behind
  // the first of a row, and a multiplication where none of a row is 1 or -1.
  const auto operations = [](const FractionMatrix& matrix) {
    std::ptrdiff_t count = 0;
    for (const auto& row : matrix) {
      const auto is_zero = [](const Fraction& element) { return element == Fraction(0); };
      const auto is_one = [](const Fraction& element) { return element * element == Fraction(1); };
      count += std::ssize(row) - std::count_if(row.begin(), row.end(), is_zero);
      count -= std::any_of(row.begin(), row.end(), is_one) ? 1 : 0;
    }
    return count;
  };
  struct Count {
    int outputs;
    std::ptrdiff_t input, output;
  };
  for (const Count& most : {Count{2, 4, 4}, Count{4, 16, 12}, Count{6, 24, 20}}) {
    CAPTURE(most.outputs);
    const WinogradMatrices matrices = winograd_matrices(winograd_points(most.outputs));
    for (const auto& [factors, matrix, count] :
         {std::tie(matrices.input_factors, matrices.input, most.input),
          std::tie(matrices.output_factors, matrices.output, most.output)}) {
      CHECK(winograd_detail::product_of(factors.second, factors.first) == matrix);
      CHECK(exact_in_float(factors.first));
      CHECK(exact_in_float(factors.second));
      CHECK(operations(factors.first) + operations(factors.second) == count);
      CHECK(count <= operations(matrix));
    }
  }
}

TEST_CASE("a matrix with one element altered does not filter", "[winograd]") {
  const WinogradMatrices good = winograd_matrices(winograd_points(4));
  std::mt19937 random(1);
  for (FractionMatrix WinogradMatrices::*const member :
       {&WinogradMatrices::input, &WinogradMatrices::weights, &WinogradMatrices::output,
        &WinogradMatrices::output_gradient, &WinogradMatrices::weights_gradient}) {
    for (int i = 0; i < 10; ++i) {
      WinogradMatrices bad = good;
      auto& row = (bad.*member)[random() % (bad.*member).size()];
      Fraction& element = row[random() % row.size()];
      element = element + Fraction(1, 64);
      CHECK_FALSE(filters(bad));
    }
  }
}

TEST_CASE("points that make no matrices are refused", "[winograd]") {
  CHECK_THROWS_AS(winograd_matrices({0, 1, {2, 2}}), std::invalid_argument);
  CHECK_THROWS_AS(winograd_matrices({0}), std::invalid_argument);
  CHECK_THROWS_AS(winograd_points(3), std::invalid_argument);
  CHECK_THROWS_AS(Fraction(1, 0), std::invalid_argument);
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(winograd_matrices({kHuge, 1, -1}), std::overflow_error);
}
