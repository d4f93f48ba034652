#include "harness/workload/registry.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {

WorkloadRegistry& WorkloadRegistry::instance() {
  static WorkloadRegistry registry;
  return registry;
}

void WorkloadRegistry::add(InfoFunction info, std::function<std::unique_ptr<Workload>()> create) {
  pending_.emplace_back(std::move(info), std::move(create));
}

void WorkloadRegistry::resolve() {
  for (auto& [info, create] : std::exchange(pending_, {})) {
    auto entry = std::make_unique<WorkloadEntry>(WorkloadEntry{info(), std::move(create)});
    const auto place = std::lower_bound(
        entries_.begin(), entries_.end(), entry->info.name,
        [](const auto& known, const std::string& name) { return known->info.name < name; });
    if (place != entries_.end() && (*place)->info.name == entry->info.name) {
      throw std::logic_error("workload registered twice: " + entry->info.name);
    }
    entries_.insert(place, std::move(entry));
  }
}

std::vector<const WorkloadEntry*> WorkloadRegistry::list() {
  resolve();
  std::vector<const WorkloadEntry*> entries;
  for (const auto& entry : entries_) entries.push_back(entry.get());
  return entries;
}

const WorkloadEntry& WorkloadRegistry::get(const std::string& name) {
  resolve();
  std::vector<std::string> names;
  for (const auto& entry : entries_) {
    if (entry->info.name == name) return *entry;
    names.push_back(entry->info.name);
  }
  throw Error("workload '" + printable(name) + "'", "unknown", did_you_mean(name, names));
}

RegisterWorkload::RegisterWorkload(InfoFunction info,
                                   std::function<std::unique_ptr<Workload>()> create) {
  WorkloadRegistry::instance().add(std::move(info), std::move(create));
}

}  // namespace harness
