#include "kernels/registry.hpp"

#include <algorithm>

namespace harness::kernels {
namespace {

std::vector<const OperatorBase*>& all_operators() {
  static std::vector<const OperatorBase*> operators;
  return operators;
}

}  // namespace

OperatorBase::OperatorBase(std::string name, std::string summary)
    : name_(std::move(name)), summary_(std::move(summary)) {
  auto& all = all_operators();
  const auto after =
      std::lower_bound(all.begin(), all.end(), name_,
                       [](const OperatorBase* a, const std::string& b) { return a->name() < b; });
  if (after != all.end() && (*after)->name() == name_) {
    throw std::logic_error("operator registered twice: " + name_);
  }
  all.insert(after, this);
}

OperatorBase::~OperatorBase() { std::erase(all_operators(), this); }

std::vector<const OperatorBase*> operators() { return all_operators(); }

void check_selection(const Selection& selection) {
  for (const auto& [name, implementation] : selection) {
    const OperatorBase* found = nullptr;
    std::string known;
    for (const OperatorBase* candidate : all_operators()) {
      if (candidate->name() == name) found = candidate;
      known += (known.empty() ? "" : ", ") + candidate->name();
    }
    if (found == nullptr) {
      throw std::invalid_argument("no operator '" + name + "'; known: " + known);
    }
    known.clear();
    bool matched = false;
    for (const ImplementationSummary& candidate : found->implementations()) {
      known += (known.empty() ? "" : ", ") + candidate.name;
      if (candidate.name != implementation) continue;
      matched = true;
      if (!candidate.support.ok) {
        throw std::invalid_argument(name + "=" + implementation +
                                    " cannot run on this machine: " + candidate.support.reason);
      }
    }
    if (!matched) {
      throw std::invalid_argument("operator " + name + " has no implementation '" + implementation +
                                  "'; known: " + known);
    }
  }
}

}  // namespace harness::kernels
