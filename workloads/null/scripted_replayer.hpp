// Primitives of the recording that scripted_recorder.hpp makes, run one by one.
#pragma once

#include <memory>

#include "harness/workload/replayer.hpp"
#include "harness/workload/workload.hpp"

namespace harness::workloads {

/// Each sleeps for as long as a step of the primitive's precision does. Throws Error where the
/// script forbids to look into it.
std::unique_ptr<Replayer> make_scripted_replayer(const WorkloadContext& context);

}  // namespace harness::workloads
