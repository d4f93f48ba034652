#include "harness/gate/start_places.hpp"

#include <cmath>
#include <numeric>

#include "harness/lockstep/order.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> StartPlaces::without(std::int64_t cluster, const std::vector<double>& seconds) {
  if (seconds.size() != sides_) {
    *this = {};
    sides_ = seconds.size();
    learned_.resize(sides_);
  }
  const std::vector<std::size_t> order = balanced_order(cluster, sides_);
  std::vector<double> rid = seconds;
  std::vector<double> by_place;
  for (std::size_t place = 0; place < sides_; ++place) {
    const std::size_t side = order[place];
    by_place.push_back(std::log(seconds[side]));
    // The median of the fews: the first start of all is a cold one.
    if (!learned_[place].empty()) rid[side] /= std::exp(median(learned_[place]));
  }
  learn(by_place);
  return rid;
}

void StartPlaces::learn(const std::vector<double>& by_place) {
  few_.push_back(by_place);
  if (std::ssize(few_) < rounds_of_balance(sides_)) return;
  std::vector<double> of_place;
  for (std::size_t place = 0; place < sides_; ++place) {
    std::vector<double> values;
    for (const std::vector<double>& one : few_) values.push_back(one[place]);
    of_place.push_back(mean(values));
  }
  const double of_all = mean(of_place);
  for (std::size_t place = 0; place < sides_; ++place) {
    learned_[place].push_back(of_place[place] - of_all);
  }
  few_.clear();
}

}  // namespace harness
