// The replays of kernels/replay/ as the instrument knows them.
#pragma once

#include <memory>

#include "harness/workload/replayer.hpp"

namespace harness::workloads {

/// With `threads`, which have to be those of the process by then.
std::unique_ptr<Replayer> make_replayer(int threads, const ReplaySizes& sizes);

}  // namespace harness::workloads
