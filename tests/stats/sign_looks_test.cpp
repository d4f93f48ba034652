// The boundaries of a sign test with several looks, against all sequences of signs.
#include "harness/stats/sign_looks.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// P(fair signs reach a boundary at any of the looks), by trying all sequences.
double reached(const std::vector<std::size_t>& sizes, const std::vector<SignLook>& looks) {
  const std::size_t n = sizes.back();
  std::size_t stopped = 0;
  for (std::size_t signs = 0; signs < (std::size_t{1} << n); ++signs) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t seen = signs & ((std::size_t{1} << sizes[i]) - 1);
      if (static_cast<std::size_t>(std::popcount(seen)) < looks[i].agreeing) continue;
      ++stopped;
      break;
    }
  }
  return static_cast<double>(stopped) / std::pow(2.0, static_cast<double>(n));
}

std::vector<SignLook> at(const std::vector<std::size_t>& sizes, const std::vector<double>& errors) {
  return sign_looks(sizes, errors);
}

}  // namespace

TEST_CASE("one look is the sign test", "[stats][sign_looks]") {
  struct Row {
    std::size_t n;
    double error;
    std::size_t agreeing;
    double spent;
  };
  for (const Row& row : {Row{5, 0.025, 6, 0}, Row{6, 0.025, 6, 1.0 / 64},
                         // The error itself is not above the error.
                         Row{6, 1.0 / 64, 6, 1.0 / 64}, Row{6, 0.0156, 7, 0},
                         // 1 + 8 of 256, and 1 + 10 + 45 of 1024.
                         Row{8, 0.05, 7, 9.0 / 256}, Row{10, 0.055, 8, 56.0 / 1024},
                         Row{0, 0.05, 1, 0}, Row{1, 0.05, 2, 0}, Row{20, 0, 21, 0}}) {
    CAPTURE(row.n, row.error);
    const SignLook look = at({row.n}, {row.error}).front();
    CHECK(look.agreeing == row.agreeing);
    CHECK(look.spent == Approx(row.spent));
  }
}

TEST_CASE("looks spend what they say, and as much as whole counts allow", "[stats][sign_looks]") {
  const std::vector<std::vector<std::size_t>> plans = {
      {4, 8, 12, 16}, {3, 6, 9, 12}, {1, 2, 3, 4, 5, 6, 7, 8}, {10, 10, 14}, {0, 0, 9, 15}, {16}};
  for (const std::vector<std::size_t>& sizes : plans) {
    for (const double error : {0.4, 0.2, 0.05, 0.0125, 0.001}) {
      std::vector<double> errors;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        errors.push_back(error * std::pow(static_cast<double>(i + 1) / sizes.size(), 2));
      }
      const std::vector<SignLook> looks = at(sizes, errors);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        CAPTURE(sizes, error, i);
        const std::vector<std::size_t> so_far(sizes.begin(),
                                              sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        CHECK(looks[i].spent == Approx(reached(so_far, looks)).margin(1e-12));
        CHECK(looks[i].spent <= errors[i] * (1 + 1e-9));
        CHECK(looks[i].agreeing > sizes[i] / 2);
        CHECK(looks[i].agreeing <= sizes[i] + 1);
        // One less would be too much.
        std::vector<SignLook> lower(looks.begin(),
                                    looks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        --lower[i].agreeing;
        CHECK(reached(so_far, lower) > errors[i]);
      }
    }
  }
}

TEST_CASE("what an early look cannot spend a later one has", "[stats][sign_looks]") {
  // 2^-4 is too much for 0.05; the second look has all of it, as though it were the only one.
  const std::vector<SignLook> looks = at({4, 10}, {0.05, 0.0547});
  CHECK(looks[0].agreeing == 5);
  CHECK(looks[0].spent == 0);
  CHECK(looks[1].agreeing == at({10}, {0.0547}).front().agreeing);
}

TEST_CASE("many signs approach the normal distribution", "[stats][sign_looks]") {
  for (const std::size_t n : {std::size_t{400}, std::size_t{3000}}) {
    const SignLook look = at({n}, {0.025}).front();
    const double mean = static_cast<double>(n) / 2;
    const double deviations =
        (static_cast<double>(look.agreeing) - 0.5 - mean) / std::sqrt(mean / 2);
    CHECK(deviations > 1.95);
    CHECK(deviations < 1.95 + 2 / std::sqrt(mean / 2));
    CHECK(look.spent > 0.02);
  }
}

TEST_CASE("looks that are none are refused", "[stats][sign_looks]") {
  CHECK(at({}, {}).empty());
  CHECK_THROWS_AS(at({4}, {}), std::invalid_argument);
  CHECK_THROWS_AS(at({4, 3}, {0.01, 0.02}), std::invalid_argument);
  CHECK_THROWS_AS(at({4, 8}, {0.02, 0.01}), std::invalid_argument);
  CHECK_THROWS_AS(at({4}, {0.5}), std::invalid_argument);
  CHECK_THROWS_AS(at({4}, {-0.1}), std::invalid_argument);
  CHECK_THROWS_AS(at({4}, {std::nan("")}), std::invalid_argument);
}
