// The replays of kernels/replay/ as the instrument knows them.
#pragma once

#include <memory>

#include "harness/workload/replayer.hpp"
#include "kernels/replay/replay.hpp"

namespace harness::workloads {

/// Its failures are Errors.
std::unique_ptr<PreparedPrimitive> as_prepared(std::unique_ptr<kernels::Replay> replay);

/// With `threads`, which have to be those of the process by then.
std::unique_ptr<Replayer> make_replayer(int threads, const ReplaySizes& sizes);

}  // namespace harness::workloads
