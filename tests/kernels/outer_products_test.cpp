// Outer products of rows, summed, against double precision, in all instruction sets.
#include "kernels/products/outer_products.hpp"

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

#include "tests/support/guarded_floats.hpp"
#include "tests/support/simd_targets.hpp"

using namespace harness::kernels;  // NOLINT(google-build-using-namespace)

namespace {

using Int = std::int64_t;

struct Shape {
  Int lines = 1, width = 1, left = 1, right = 1;
  Int stride = 1;  ///< of rows and lines on the right
};

Floats random(Int count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = normal(generator);
  return values;
}

struct Operands {
  explicit Operands(const Shape& s)
      : shape(s),
        left(random(s.lines * s.width * s.left, 1)),
        right(random(s.lines * s.stride * s.width * s.stride * s.right, 3)),
        scale(random(s.left, 4)),
        to(static_cast<std::size_t>(s.left * s.right)),
        sums(static_cast<std::size_t>(s.left)) {
    for (Int line = 0; line < s.lines; ++line) {
      lines.push_back(line * s.stride * s.width * s.stride * s.right);
    }
  }

  OuterProducts products() {
    return {.lines = shape.lines,
            .width = shape.width,
            .left_columns = shape.left,
            .right_columns = shape.right,
            .left = left.data(),
            .right = right.data(),
            .right_lines = lines.data(),
            .right_row = shape.stride * shape.right,
            .scale = scale.data(),
            .to = to.data(),
            .left_sums = sums.data()};
  }

  void run(const OuterProducts& products) {
    Floats workspace(outer_products_workspace(products));
    outer_products(products, workspace.data());
    CHECK(workspace.intact());
    CHECK(to.intact());
    CHECK(sums.intact());
  }

  double left_at(Int row, Int column) {
    return static_cast<double>(left[static_cast<std::size_t>(row * shape.left + column)]);
  }
  double right_at(Int row, Int column) {
    const Int line = lines[static_cast<std::size_t>(row / shape.width)];
    const Int at = line + row % shape.width * shape.stride * shape.right + column;
    return static_cast<double>(right[static_cast<std::size_t>(at)]);
  }

  /// The largest error of products and of sums, each as a share of what its terms add up to without
  /// signs.
  double error(bool scaled) {
    double worst = 0;
    const auto compare = [&](double sum, double size, float found) {
      worst = std::max(worst, std::abs(sum - static_cast<double>(found)) / std::max(size, 1e-30));
    };
    const Int rows = shape.lines * shape.width;
    for (Int i = 0; i < shape.left; ++i) {
      const double factor = scaled ? static_cast<double>(scale[static_cast<std::size_t>(i)]) : 1;
      for (Int j = 0; j < shape.right; ++j) {
        double sum = 0;
        double size = 0;
        for (Int r = 0; r < rows; ++r) {
          const double term = factor * left_at(r, i) * right_at(r, j);
          sum += term;
          size += std::abs(term);
        }
        compare(sum, size, to[static_cast<std::size_t>(i * shape.right + j)]);
      }
      double sum = 0;
      double size = 0;
      for (Int r = 0; r < rows; ++r) {
        sum += left_at(r, i);
        size += std::abs(left_at(r, i));
      }
      compare(sum, size, sums[static_cast<std::size_t>(i)]);
    }
    return worst;
  }

  Shape shape;
  Floats left, right, scale, to, sums;
  std::vector<Int> lines{};
};

}  // namespace

TEST_CASE("outer products against double precision", "[products]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    for (const Shape& s :
         {Shape{1, 1, 1, 1}, Shape{1, 3, 5, 7}, Shape{3, 11, 16, 48}, Shape{2, 7, 17, 64, 2},
          Shape{25, 41, 33, 49}, Shape{5, 9, 64, 129, 3}, Shape{31, 40, 12, 31}}) {
      CAPTURE(target, s.lines, s.width, s.left, s.right, s.stride);
      Operands operands(s);
      operands.run(operands.products());
      CHECK(operands.error(true) < 1e-6);
      OuterProducts plain = operands.products();
      plain.scale = nullptr;
      plain.left_sums = nullptr;  // those of before stay
      operands.run(plain);
      CHECK(operands.error(false) < 1e-6);
    }
  });
}

TEST_CASE("outer products have the same bits for any number of threads", "[products]") {
  const int threads = omp_get_max_threads();
  harness::tests::for_each_simd_target([](const std::string& target) {
    std::vector<float> first;
    for (const int count : {1, 2, 5}) {
      omp_set_num_threads(count);
      Operands operands({40, 30, 70, 90});
      operands.run(operands.products());
      std::vector<float> all(operands.to.data(), operands.to.data() + operands.to.size());
      all.insert(all.end(), operands.sums.data(), operands.sums.data() + operands.sums.size());
      if (first.empty()) first = all;
      CAPTURE(target, count);
      CHECK(all == first);
    }
  });
  omp_set_num_threads(threads);
}

TEST_CASE("outer products: what is not finite is not lost", "[products]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    for (const float value :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      CAPTURE(target, value);
      Operands operands({4, 5, 20, 30});
      operands.left[7 * 20 + 3] = value;   // row 7
      operands.right[9 * 30 + 2] = value;  // row 9
      operands.run(operands.products());
      for (std::size_t j = 90; j < 120; ++j) CHECK_FALSE(std::isfinite(operands.to[j]));  // row 3
      for (std::size_t i = 0; i < 20; ++i) CHECK_FALSE(std::isfinite(operands.to[i * 30 + 2]));
      CHECK_FALSE(std::isfinite(operands.sums[3]));
      CHECK(std::isfinite(operands.to[0]));
      CHECK(std::isfinite(operands.sums[4]));
    }
  });
}
