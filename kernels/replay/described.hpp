// Primitives in the words of a profile, which are oneDNN's: problems, layouts, attributes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/replay/replay.hpp"

namespace harness::kernels {

struct DescribedTensor {
  std::string name{};    ///< src, wei, bia, dst
  std::string type{};    ///< f32, bf16, undef
  std::string layout{};  ///< acdb; empty: the library chooses
};

struct DescribedPrimitive {
  std::string kind{};       ///< convolution, matmul, reorder
  std::string direction{};  ///< forward_training, backward_data, ...
  std::vector<DescribedTensor> tensors{};
  std::string attributes{};
  std::string problem{};  ///< in benchdnn's syntax
};

/// Made by oneDNN, or where it is `ours` by a kernel of ours, cut for `threads`, or by oneDNN's
/// where that has none (in bf16, say). `memory` outlives it. Throws std::invalid_argument for what
/// cannot be made, and for what nobody would.
std::unique_ptr<Replay> make_replay(const DescribedPrimitive& primitive, bool ours, int threads,
                                    ReplayMemory& memory);

}  // namespace harness::kernels
