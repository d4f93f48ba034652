// Replays of primitives that are told in a profile's words: problems, layouts, attributes.
#pragma once

#include <memory>

#include "harness/base/recording.hpp"
#include "kernels/replay/replay.hpp"

namespace harness::kernels {

/// Made by oneDNN, or where it is `ours` by a kernel of ours, cut for `threads`, or by oneDNN's
/// where that has none (in bf16, say). `memory` outlives it. Throws std::invalid_argument for what
/// cannot be made, and for what nobody would.
std::unique_ptr<Replay> make_replay(const Primitive& primitive, bool ours, int threads,
                                    ReplayMemory& memory);

}  // namespace harness::kernels
