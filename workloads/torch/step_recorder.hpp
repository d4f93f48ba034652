// The profiler of kernels/runtime/ as the instrument knows it.
#pragma once

#include <memory>

#include "harness/workload/capabilities.hpp"

namespace harness::workloads {

std::unique_ptr<StepRecorder> make_step_recorder();

}  // namespace harness::workloads
