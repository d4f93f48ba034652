#include "harness/stats/sign_looks.hpp"

#include <stdexcept>

namespace harness {
namespace {

/// A probability that is the error itself must not hang on how it was rounded.
constexpr double kSlack = 1e-12;

/// One more fair sign.
void toss(std::vector<double>& ways) {
  ways.push_back(0);
  for (std::size_t k = ways.size() - 1; k > 0; --k) ways[k] = (ways[k] + ways[k - 1]) / 2;
  ways[0] /= 2;
}

}  // namespace

// Armitage, McPherson and Rowe 1969: the distribution of the count among those who have not
// stopped, carried from look to look. Spending by Lan and DeMets 1983.
std::vector<SignLook> sign_looks(std::span<const std::size_t> sizes,
                                 std::span<const double> errors) {
  if (sizes.size() != errors.size()) throw std::invalid_argument("looks without an error");
  std::vector<SignLook> looks;
  std::vector<double> ways{1.0};  // P(so many agree, and did not stop before)
  double spent = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double before = i == 0 ? 0 : errors[i - 1];
    if (!(errors[i] >= before && errors[i] < 0.5) || sizes[i] + 1 < ways.size()) {
      throw std::invalid_argument("looks that fall, or an error out of [0, 0.5)");
    }
    while (ways.size() < sizes[i] + 1) toss(ways);
    const double most = errors[i] * (1 + kSlack);
    std::size_t agreeing = ways.size();
    while (spent + ways[agreeing - 1] <= most) {
      spent += ways[--agreeing];
      ways[agreeing] = 0;
    }
    looks.push_back({agreeing, spent});
  }
  return looks;
}

}  // namespace harness
