#include "harness/profile/remedy.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/profile/views.hpp"

namespace harness {
namespace {

std::vector<Remedy>& registered() {
  static std::vector<Remedy> remedies;
  return remedies;
}

}  // namespace

double PricedStep::gap(const OperatorRow& row) const {
  if (!without_faults) return std::max(row.gap_seconds(), 0.0);
  return gap_without_faults(row, bandwidth, fault_seconds);
}

RegisterRemedy::RegisterRemedy(Remedy remedy) { registered().push_back(std::move(remedy)); }

std::vector<Remedy> remedies_of(const std::vector<AdvisedChange>& changes) {
  std::vector<Remedy> found;
  std::copy_if(registered().begin(), registered().end(), std::back_inserter(found),
               [&](const Remedy& remedy) {
                 return std::find(changes.begin(), changes.end(), remedy.change) != changes.end();
               });
  std::stable_sort(found.begin(), found.end(),
                   [](const Remedy& a, const Remedy& b) { return a.change < b.change; });
  return found;
}

}  // namespace harness
