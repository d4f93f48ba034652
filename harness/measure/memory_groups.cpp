#include "harness/measure/memory_groups.hpp"

namespace harness {

std::vector<std::vector<std::size_t>> memory_groups(const std::vector<double>& needs,
                                                    double limit) {
  if (needs.empty() || needs.front() > limit) return {};
  std::vector<std::vector<std::size_t>> groups = {{0}};
  double taken = needs.front();
  for (std::size_t i = 1; i < needs.size(); ++i) {
    if (needs.front() + needs[i] > limit) return {};
    if (taken + needs[i] > limit) {
      groups.push_back({0});
      taken = needs.front();
    }
    groups.back().push_back(i);
    taken += needs[i];
  }
  return groups;
}

}  // namespace harness
