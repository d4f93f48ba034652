#include "workloads/retinanet/candidates.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>

namespace harness::workloads {
namespace {

// Logits that are looked at together: mostly none of them is worth more.
constexpr std::int64_t kBlock = 64;
// A thread's part is no smaller: 1 MiB.
constexpr std::int64_t kPart = std::int64_t{1} << 18;

bool better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.place < b.place);
}

/// The best of a run of places, offered in their order.
class Best {
 public:
  Best(float limit, std::int64_t most) : limit_(limit), most_(static_cast<std::size_t>(most)) {}

  void look(const float* logits, std::int64_t begin, std::int64_t end) {
    for (; begin + kBlock <= end; begin += kBlock) {
      int any = 0;  // in vectors
      for (std::int64_t i = 0; i < kBlock; ++i) any |= logits[begin + i] > limit_ ? 1 : 0;
      if (any != 0) each(logits, begin, begin + kBlock);
    }
    each(logits, begin, end);
  }
  std::vector<Candidate> take() { return std::move(kept_); }

 private:
  void each(const float* logits, std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      if (!(logits[begin] > limit_)) continue;
      kept_.push_back({logits[begin], begin});
      if (kept_.size() >= 4 * most_) trim();
    }
  }

  /// What comes later must beat the worst that is left; an equal one would come behind it.
  void trim() {
    const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(most_) - 1;
    std::nth_element(kept_.begin(), last, kept_.end(), better);
    limit_ = last->logit;
    kept_.resize(most_);
  }

  float limit_;
  std::size_t most_;
  std::vector<Candidate> kept_{};
};

}  // namespace

std::vector<Candidate> best_candidates(const float* logits, std::int64_t count, float limit,
                                       std::int64_t most) {
  std::vector<Candidate> all;
  if (count <= 0 || most <= 0) return all;
  const std::int64_t parts = (count + kPart - 1) / kPart;
  std::vector<std::vector<Candidate>> found(static_cast<std::size_t>(parts));
  at::parallel_for(0, parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      Best best(limit, most);
      best.look(logits, part * kPart, std::min(count, (part + 1) * kPart));
      found[static_cast<std::size_t>(part)] = best.take();
    }
  });
  for (const std::vector<Candidate>& part : found) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end(), better);
  all.resize(std::min(all.size(), static_cast<std::size_t>(most)));
  return all;
}

}  // namespace harness::workloads
