// Of ablations whose variants are worlds of so many ranks (`harness scale`): how a step scales.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/types.hpp"
#include "harness/kinds/ablation/ablation.hpp"

namespace harness {

bool is_scaling(const Ablation& ablation);

/// A world against the smallest one of its kind.
struct ScaleRow {
  bool strong = false;    ///< all ranks share one batch; else each has its own of one size
  std::string variant{};  ///< its name
  std::int64_t ranks = 1;
  std::int64_t batch = 1;  ///< of each rank
  /// Samples a second of each rank, as a share of those in the smallest world.
  Speedup efficiency{};
};

/// The weak ones, then the strong ones, each by ranks; the largest world is in both. Variants whose
/// settings are not those of a world are left out.
std::vector<ScaleRow> scale_rows(const Ablation& ablation);

/// What its variants have that no worlds of one workload can have.
std::vector<Violation> check_worlds(const Ablation& ablation);

}  // namespace harness
