// The least time that a step's primitives can take: their multiplications, at the best rate that
// the machine was seen to reach. Two bounds, since there are two algorithms: direct convolution
// multiplies each input by each weight; minimal filtering (Winograd) computes tiles of outputs with
// fewer multiplications. No kernel of an algorithm beats its bound; what moves bytes costs more.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/types.hpp"
#include "harness/profile/projection.hpp"

namespace harness {

struct Floors {
  double direct = 0;   ///< seconds a step; matrix products included
  double minimal = 0;  ///< with minimal filtering where it applies; at most `direct`
  double rate = 0;     ///< FLOP/s of fp32 that both stand on
};

/// `peaks`: those beside the step, or of the machine that it is projected to. Empty where none of
/// fp32 was sampled, or no task has multiplications that can be told.
std::optional<Floors> floors_of(const std::vector<ReplayTask>& tasks,
                                const std::vector<Peak>& peaks);

/// One sentence for people; minimal filtering is named where it makes a difference.
std::string floors_text(const Floors& floors);
/// {"direct_seconds", "minimal_filtering_seconds", "fp32_flops_per_second"}, or null.
nlohmann::json floors_json(const std::optional<Floors>& floors);

}  // namespace harness
