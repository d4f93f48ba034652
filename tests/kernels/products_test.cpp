// Products with packed weights against double precision, in all instruction sets.
#include "kernels/products/products.hpp"
#include "kernels/products/amx_sums.hpp"

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

struct Shape {
  Int rows = 1, depth = 1, columns = 1;
};

Floats random(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = normal(generator);
  return values;
}

/// A product of random operands; rows lie further apart than they are long.
struct Operands {
  static constexpr Int kGap = 3;

  explicit Operands(const Shape& s)
      : shape(s),
        from(random(static_cast<std::size_t>(s.rows * (s.depth + kGap)), 1)),
        weights(random(static_cast<std::size_t>(s.columns * s.depth), 2)),
        bias(random(static_cast<std::size_t>(s.columns), 3)),
        residual(random(static_cast<std::size_t>(s.rows * (s.columns + kGap)), 4)),
        packed(packed_product_floats(s.depth, s.columns)),
        to(static_cast<std::size_t>(s.rows * (s.columns + kGap))) {}

  Product product() {
    pack_product({weights.data(), shape.depth, shape.columns, shape.depth, 1}, packed.data());
    return {.rows = shape.rows,
            .depth = shape.depth,
            .columns = shape.columns,
            .from = from.data(),
            .from_row = shape.depth + kGap,
            .packed = packed.data(),
            .bias = bias.data(),
            .residual = residual.data(),
            .residual_row = shape.columns + kGap,
            .to = to.data(),
            .to_row = shape.columns + kGap};
  }

  double exact(Int row, Int column) {
    double sum = bias[static_cast<std::size_t>(column)];
    sum += residual[static_cast<std::size_t>(row * (shape.columns + kGap) + column)];
    for (Int k = 0; k < shape.depth; ++k) {
      sum += static_cast<double>(from[static_cast<std::size_t>(row * (shape.depth + kGap) + k)]) *
             static_cast<double>(weights[static_cast<std::size_t>(column * shape.depth + k)]);
    }
    return sum;
  }

  float result(Int row, Int column) {
    return to[static_cast<std::size_t>(row * (shape.columns + kGap) + column)];
  }

  Shape shape;
  Floats from, weights, bias, residual, packed, to;
};

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

/// What comes of one value x: one row, depth 1, weight 1.
float through(Product product, float x) {
  Floats from(1);
  Floats to(1);
  Floats packed(packed_product_floats(1, 1));
  const float one = 1;
  pack_product({&one, 1, 1, 1, 1}, packed.data());
  from[0] = x;
  product.rows = product.depth = product.columns = 1;
  product.from = from.data();
  product.packed = packed.data();
  product.to = to.data();
  multiply(product);
  CHECK((to.intact() && packed.intact()));
  return to[0];
}

}  // namespace

TEST_CASE("products equal those of double precision, for any number of rows and columns",
          "[products]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    for (const Int rows : {1, 2, 5, 6, 7, 12, 13, 14, 27, 40}) {
      for (const Int columns : {1, 3, 8, 15, 16, 17, 31, 32, 33, 100}) {
        Operands operands({rows, 37, columns});
        const Product product = operands.product();
        multiply(product);
        double worst = 0;
        for (Int r = 0; r < rows; ++r) {
          for (Int n = 0; n < columns; ++n) {
            worst = std::max(worst, std::abs(operands.result(r, n) - operands.exact(r, n)));
          }
        }
        INFO(target << ": " << rows << " rows, " << columns << " columns");
        CHECK(worst < 2e-5);
        CHECK((operands.to.intact() && operands.packed.intact()));
        // Between rows nothing is written.
        if (rows > 1) CHECK(operands.result(0, columns) == 1234.5F);
      }
    }
  });
}

TEST_CASE("a long sum is as exact as float32 allows", "[products]") {
  Operands operands({3, 1536, 5});
  multiply(operands.product());
  for (Int r = 0; r < 3; ++r) {
    for (Int n = 0; n < 5; ++n) {
      CHECK(std::abs(operands.result(r, n) - operands.exact(r, n)) < 2e-4);
    }
  }
}

TEST_CASE("transposed weights are packed the same", "[products]") {
  Operands operands({4, 9, 21});
  (void)operands.product();
  Floats turned(operands.weights.size());
  for (std::size_t n = 0; n < 21; ++n) {
    for (std::size_t k = 0; k < 9; ++k) turned[k * 21 + n] = operands.weights[n * 9 + k];
  }
  Floats packed(packed_product_floats(9, 21));
  pack_product({turned.data(), 9, 21, 1, 21}, packed.data());
  CHECK(std::memcmp(packed.data(), operands.packed.data(), packed.size() * sizeof(float)) == 0);
}

TEST_CASE("GELU is exact, to infinity", "[products]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    Product product;
    product.activation = Activation::kGelu;
    for (double x = -14; x < 14; x += 0.01171875) {
      INFO(target << ": " << x);
      const double wanted = gelu(x);
      REQUIRE(std::abs(through(product, static_cast<float>(x)) - wanted) <
              2.5e-7 * std::abs(x) + 1e-30);
    }
    CHECK(through(product, 0.0F) == 0.0F);
    CHECK(through(product, 3e38F) == 3e38F);
    CHECK(through(product, -3e38F) == 0.0F);
    CHECK(through(product, kInfinity) == kInfinity);
    CHECK(std::isnan(through(product, kNan)));
  });
}

TEST_CASE("a clip keeps its limits and a NaN", "[products]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    INFO(target);
    Product product;
    product.activation = Activation::kClip;
    product.high = 6;
    for (const float x : {-1.0F, 0.0F, 2.5F, 6.0F, 6.5F, 3e38F}) {
      CHECK(through(product, x) == std::min(std::max(x, 0.0F), 6.0F));
    }
    CHECK(through(product, kInfinity) == 6.0F);
    CHECK(through(product, -kInfinity) == 0.0F);
    CHECK(std::isnan(through(product, kNan)));
  });
}

TEST_CASE("infinities and NaN reach the rows that read them and no others", "[products]") {
  Operands operands({29, 40, 50});
  Product product = operands.product();
  operands.from[static_cast<std::size_t>(17 * (40 + Operands::kGap) + 3)] = kNan;
  multiply(product);
  for (Int r = 0; r < 29; ++r) {
    for (Int n = 0; n < 50; ++n) REQUIRE(std::isnan(operands.result(r, n)) == (r == 17));
  }
}

TEST_CASE("the bits do not depend on the number of threads", "[products]") {
  const int before = omp_get_max_threads();
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 5}) {
    omp_set_num_threads(threads);
    Operands operands({61, 200, 130});
    multiply(operands.product());
    const std::vector<float> bits(operands.to.data(), operands.to.data() + operands.to.size());
    if (first.empty()) first = bits;
    CHECK(std::memcmp(first.data(), bits.data(), bits.size() * sizeof(float)) == 0);
  }
  omp_set_num_threads(before);
}

namespace {

using namespace harness::tests;  // NOLINT(google-build-using-namespace)

/// The operands of a product, rounded.
struct NarrowOperands {
  explicit NarrowOperands(const Shape& s)
      : wide(s), from(wide.from.size()), packed(packed_narrow_product_size(s.depth, s.columns)) {
    for (std::size_t i = 0; i < wide.from.size(); ++i) {
      wide.from[i] = nearest_bf16(wide.from[i]);
      from.data()[i] = bf16_bits(wide.from[i]);
    }
    // Not rounded before: the packing does it.
    pack_narrow_product({wide.weights.data(), s.depth, s.columns, s.depth, 1}, packed.data());
    for (std::size_t i = 0; i < wide.weights.size(); ++i) {
      wide.weights[i] = nearest_bf16(wide.weights[i]);
    }
  }

  Product product() {
    Product product = wide.product();
    product.from = nullptr;
    product.packed = nullptr;
    product.narrow_from = from.data();
    product.narrow_packed = packed.data();
    return product;
  }

  Operands wide;
  Narrow from, packed;
};

struct WithoutAmx {
  WithoutAmx() { products::allow_amx_sums(false); }
  ~WithoutAmx() { products::allow_amx_sums(true); }
};

void check_narrow_products(const std::string& target) {
  for (const Int rows : {1, 2, 12, 13, 14, 16, 17, 27, 32, 33, 70}) {
    for (const Int columns : {1, 15, 16, 17, 31, 32, 33, 100}) {
      for (const Int depth : {2, 32, 38, 96}) {
        NarrowOperands operands({rows, depth, columns});
        Product product = operands.product();
        multiply(product);
        Narrow narrow(operands.wide.to.size());
        product.narrow_to = narrow.data();
        multiply(product);
        double worst = 0;
        bool rounded = true;
        for (Int r = 0; r < rows; ++r) {
          for (Int n = 0; n < columns; ++n) {
            const float got = operands.wide.result(r, n);
            worst = std::max(worst, std::abs(got - operands.wide.exact(r, n)));
            rounded &= widened(narrow.data()[r * product.to_row + n]) == nearest_bf16(got);
          }
        }
        INFO(target << ": " << rows << " rows, " << columns << " columns, depth " << depth);
        CHECK(worst < 2e-5);
        CHECK(rounded);
        CHECK((operands.wide.to.intact() && operands.packed.intact() && narrow.intact()));
        if (rows > 1) CHECK(operands.wide.result(0, columns) == 1234.5F);
      }
    }
  }
}

}  // namespace

TEST_CASE("products in bf16 equal those of the rounded operands in double precision",
          "[products]") {
  harness::tests::for_each_simd_target([](const std::string& target) {
    if (!has_narrow_products()) return;
    check_narrow_products(target);
    if (!products::has_amx_sums()) return;
    const WithoutAmx without;
    check_narrow_products(target + " without AMX");
  });
  if (!has_narrow_products()) WARN("this machine multiplies no bf16 (AVX512_BF16)");
  if (!products::has_amx_sums()) WARN("this machine has no AMX");
}

TEST_CASE("what stands behind a product is the same in bf16", "[products]") {
  if (!has_narrow_products()) return;
  NarrowOperands operands({14, 768, 40});
  Product product = operands.product();
  product.activation = Activation::kGelu;
  multiply(product);
  for (Int r = 0; r < 14; ++r) {
    for (Int n = 0; n < 40; ++n) {
      CHECK(std::abs(operands.wide.result(r, n) - gelu(operands.wide.exact(r, n))) < 1e-4);
    }
  }
  const int before = omp_get_max_threads();
  Narrow first(operands.wide.to.size());
  Narrow second(operands.wide.to.size());
  omp_set_num_threads(1);
  product.narrow_to = first.data();
  multiply(product);
  omp_set_num_threads(3);
  product.narrow_to = second.data();
  multiply(product);
  omp_set_num_threads(before);
  CHECK(std::memcmp(first.data(), second.data(), sizeof(Bf16) * 14 * 43) == 0);
}

TEST_CASE("what lies beside the operands of a product in bf16 is nobody's", "[products]") {
  if (!has_narrow_products()) return;
  for (const Int depth : {6, 30, 62}) {
    NarrowOperands operands({19, depth, 33});
    Product product = operands.product();
    multiply(product);
    const std::vector<float> before(operands.wide.to.data(),
                                    operands.wide.to.data() + operands.wide.to.size());
    for (Int r = 0; r + 1 < product.rows; ++r) {
      for (Int k = depth; k < product.from_row; ++k) {
        operands.from.data()[r * product.from_row + k] = 0x7FC0;  // NaN
      }
    }
    multiply(product);
    CHECK(std::memcmp(before.data(), operands.wide.to.data(), before.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("a row's bits do not depend on the rows beside it, nor on threads", "[products]") {
  const Shape shape{70, 200, 130};
  Operands wide(shape);
  NarrowOperands narrow(shape);
  const int threads = omp_get_max_threads();
  for (const bool in_bf16 : {false, true}) {
    if (in_bf16 && !has_narrow_products()) continue;
    Operands& to = in_bf16 ? narrow.wide : wide;
    Product product = in_bf16 ? narrow.product() : wide.product();
    product.activation = Activation::kGelu;
    multiply(product);
    const std::vector<float> all(to.to.data(), to.to.data() + to.to.size());
    const auto same = [&](Int rows) {
      for (Int r = 0; r < rows; ++r) {
        const Int place = r * product.to_row;
        if (std::memcmp(all.data() + place, to.to.data() + place,
                        static_cast<std::size_t>(product.columns) * sizeof(float)) != 0) {
          return false;
        }
      }
      return true;
    };
    for (const int count : {1, 2, 3, 5}) {
      omp_set_num_threads(count);
      multiply(product);
      CHECK(same(shape.rows));
    }
    omp_set_num_threads(threads);
    for (Int rows = 1; rows <= 34; ++rows) {
      product.rows = rows;
      multiply(product);
      INFO(rows << (in_bf16 ? " rows in bf16" : " rows"));
      CHECK(same(rows));
    }
  }
}

TEST_CASE("in bf16 infinities and NaN reach the rows that read them and no others", "[products]") {
  if (!has_narrow_products()) return;
  NarrowOperands operands({29, 40, 50});
  Product product = operands.product();
  Narrow to(operands.wide.to.size());
  product.narrow_to = to.data();
  operands.from.data()[17 * product.from_row + 3] = 0x7FA0;   // a NaN whose lower bits are dropped
  operands.from.data()[20 * product.from_row + 39] = 0x7F80;  // infinity
  multiply(product);
  for (Int r = 0; r < 29; ++r) {
    for (Int n = 0; n < 50; ++n) {
      const float got = widened(to.data()[r * product.to_row + n]);
      REQUIRE(std::isnan(got) == (r == 17));
      REQUIRE(std::isinf(got) == (r == 20));
    }
  }
}
