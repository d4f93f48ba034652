#include "harness/workload/ranks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace harness {
namespace {

ConnectRanks& registered_engine() {
  static ConnectRanks engine;
  return engine;
}

}  // namespace

std::vector<std::vector<double>> gather_numbers(Ranks& ranks, const std::vector<double>& mine) {
  std::string bytes(mine.size() * sizeof(double), '\0');
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  std::vector<std::vector<double>> all;
  for (const std::string& theirs : ranks.gather(bytes)) {
    std::vector<double>& numbers = all.emplace_back(theirs.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), theirs.data(), theirs.size());
  }
  return all;
}

std::vector<double> mean_over(Ranks& ranks, const std::vector<double>& mine) {
  std::vector<double> mean(mine.size(), 0);
  for (const std::vector<double>& theirs : gather_numbers(ranks, mine)) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += theirs.at(i);
  }
  for (double& value : mean) value /= ranks.world();
  return mean;
}

bool any_of(Ranks& ranks, bool mine) {
  const std::vector<std::string> all = ranks.gather(mine ? "1" : "0");
  return std::find(all.begin(), all.end(), "1") != all.end();
}

void expect_same(Ranks& ranks, const std::string& what, const std::string& mine,
                 const std::string& hint) {
  const std::vector<std::string> all = ranks.gather(mine);
  const auto other = std::find_if(all.begin(), all.end(),
                                  [&](const std::string& theirs) { return theirs != all.front(); });
  if (other == all.end()) return;
  throw Error("rank " + std::to_string(other - all.begin()), "has other " + what + " than rank 0",
              hint);
}

const ConnectRanks& rank_engine() {
  if (!registered_engine()) {
    throw Error("--ranks", "this program was built without an engine for several processes",
                "build it with LibTorch; docs/ranks.md says what the engine needs");
  }
  return registered_engine();
}

RegisterRankEngine::RegisterRankEngine(ConnectRanks connect) {
  if (registered_engine()) throw std::logic_error("two engines for ranks");
  registered_engine() = std::move(connect);
}

}  // namespace harness
