#include "harness/workload/ranks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace harness {
namespace {

std::map<std::string, RankEngine>& registered_engines() {
  static std::map<std::string, RankEngine> engines;
  return engines;
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

const RankEngine& rank_engine(const std::string& name) {
  const auto found = registered_engines().find(name);
  const std::string what = "--engine " + name;
  if (found == registered_engines().end()) {
    throw Error(what, "this program was built without it",
                "docs/ranks.md says what each engine for several processes needs");
  }
  const std::string missing = found->second.missing();
  if (!missing.empty()) throw Error(what, "is not to be had here", missing);
  return found->second;
}

RegisterRankEngine::RegisterRankEngine(const std::string& name, RankEngine engine) {
  if (!registered_engines().emplace(name, std::move(engine)).second) {
    throw std::logic_error("two engines for ranks named " + name);
  }
}

}  // namespace harness
