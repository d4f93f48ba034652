// Which of a level's many scores are worth a box.
#pragma once

#include <cstdint>
#include <vector>

namespace harness::workloads {

struct Candidate {
  float logit = 0;
  std::int64_t place = 0;  ///< in the level's logits, anchor by anchor
};

/// Of `count` logits those above `limit`, the best `most` of them: by falling logit, of equal ones
/// the first first. NaN is none. One pass over memory by all threads; the same for any number of
/// them.
std::vector<Candidate> best_candidates(const float* logits, std::int64_t count, float limit,
                                       std::int64_t most);

}  // namespace harness::workloads
