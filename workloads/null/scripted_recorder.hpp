// A recording of what `null` does, as if an operator of a framework had run a primitive.
#pragma once

#include <memory>

#include "harness/workload/capabilities.hpp"

namespace harness::workloads {

/// A step of one operator, which runs one primitive for as long as the phase "work" takes. Throws
/// Error where the script forbids to look into it.
std::unique_ptr<StepRecorder> make_scripted_recorder(const WorkloadContext& context);

}  // namespace harness::workloads
