#include "harness/gate/start_places.hpp"

#include <cmath>
#include <numeric>

#include "harness/lockstep/order.hpp"
#include "harness/stats/stats.hpp"

namespace harness {

std::vector<double> StartPlaces::without(std::int64_t cluster, const std::vector<double>& seconds) {
  if (seconds.size() != sides_) {
    *this = {};
    sides_ = seconds.size();
    sums_.resize(sides_);
    learned_.resize(sides_);
  }
  const std::vector<std::size_t> order = balanced_order(cluster, sides_);
  std::vector<double> rid = seconds;
  for (std::size_t place = 0; place < sides_; ++place) {
    const std::size_t side = order[place];
    sums_[place] += std::log(seconds[side]);
    // The median of the fews: the first start of all is a cold one.
    if (!learned_[place].empty()) rid[side] /= std::exp(median(learned_[place]));
  }
  if (++clusters_ == rounds_of_balance(sides_)) learn();
  return rid;
}

void StartPlaces::learn() {
  const double of_all =
      std::accumulate(sums_.begin(), sums_.end(), 0.0) / static_cast<double>(sides_);
  for (std::size_t place = 0; place < sides_; ++place) {
    learned_[place].push_back((sums_[place] - of_all) / static_cast<double>(clusters_));
    sums_[place] = 0;
  }
  clusters_ = 0;
}

}  // namespace harness
