// How a workload's data is prepared: with the threads of its run, telling whoever follows that.
#pragma once

#include "harness/workload/workload.hpp"
#include "workloads/data/parallel.hpp"

namespace harness::workloads {

inline Preparation preparation_of(const WorkloadContext& context) {
  return {context.threads, context.progress, context.interrupted};
}

}  // namespace harness::workloads
