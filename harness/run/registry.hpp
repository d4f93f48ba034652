// Workloads register themselves by one line at the end of their file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/run/workload.hpp"

namespace harness {

struct WorkloadEntry {
  WorkloadInfo info{};
  std::function<std::unique_ptr<Workload>()> create{};
};

class WorkloadRegistry {
 public:
  static WorkloadRegistry& instance();

  /// Throws std::logic_error for a name that is taken.
  void add(WorkloadEntry entry);
  /// Sorted by name.
  std::vector<const WorkloadEntry*> list() const;
  /// Throws Error with the nearest names when there is no such workload.
  const WorkloadEntry& get(const std::string& name) const;

 private:
  std::vector<std::unique_ptr<WorkloadEntry>> entries_;
};

/// The registration line: `const RegisterWorkload registered{info(), [] { return ...; }};`
struct RegisterWorkload {
  RegisterWorkload(WorkloadInfo info, std::function<std::unique_ptr<Workload>()> create);
};

}  // namespace harness
