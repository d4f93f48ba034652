#include "harness/lockstep/order.hpp"

#include <algorithm>

namespace harness {

std::int64_t rounds_of_balance(std::size_t sides) {
  const auto n = static_cast<std::int64_t>(sides);
  return n > 1 && n % 2 == 1 ? 2 * n : n;
}

// Williams (1949): the first row is 0, 1, n-1, 2, n-2, ..., each further one adds 1. With an odd
// number of sides the same rows follow turned round.
std::vector<std::size_t> balanced_order(std::int64_t round, std::size_t sides) {
  const auto n = static_cast<std::int64_t>(sides);
  const std::int64_t row = (round - 1) % rounds_of_balance(sides);
  std::vector<std::size_t> order;
  for (std::int64_t place = 0; place < n; ++place) {
    const std::int64_t of_first = place % 2 == 1 ? (place + 1) / 2 : (n - place / 2) % n;
    order.push_back(static_cast<std::size_t>((of_first + row) % n));
  }
  if (row >= n) std::reverse(order.begin(), order.end());
  return order;
}

std::int64_t rounds_before(std::int64_t cluster, std::int64_t rounds, std::size_t sides) {
  const std::int64_t beyond = rounds % rounds_of_balance(sides);
  return (cluster - 1) * (beyond == 0 ? 1 : beyond);
}

}  // namespace harness
