// Workloads register themselves by one line at the end of their file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/workload/workload.hpp"

namespace harness {

struct WorkloadEntry {
  WorkloadInfo info{};
  std::function<std::unique_ptr<Workload>()> create{};
};

using InfoFunction = std::function<WorkloadInfo()>;

class WorkloadRegistry {
 public:
  static WorkloadRegistry& instance();

  /// `info` is called with the first look into the registry, not before main(): by then all kernels
  /// have registered themselves, so a workload can list those it takes.
  void add(InfoFunction info, std::function<std::unique_ptr<Workload>()> create);
  /// Sorted by name. Throws std::logic_error for a name that is taken twice.
  std::vector<const WorkloadEntry*> list();
  /// Throws Error with the nearest names when there is no such workload.
  const WorkloadEntry& get(const std::string& name);

 private:
  void resolve();

  std::vector<std::pair<InfoFunction, std::function<std::unique_ptr<Workload>()>>> pending_;
  std::vector<std::unique_ptr<WorkloadEntry>> entries_;
};

/// The registration line: `const RegisterWorkload registered(info, [] { return ...; });`
struct RegisterWorkload {
  RegisterWorkload(InfoFunction info, std::function<std::unique_ptr<Workload>()> create);
};

}  // namespace harness
