// `matcher=custom`: two passes over blocks of anchors in place of the (boxes x anchors) matrix.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/matcher/matcher.hpp"
#include "kernels/matcher/matcher_simd.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

at::Tensor float_rows(const at::Tensor& boxes, const char* what) {
  require(boxes.dim() == 2 && boxes.size(1) == 4 && boxes.scalar_type() == at::kFloat,
          std::string("matcher=custom needs ") + what + " as (rows, 4) float32");
  return boxes.contiguous();
}

/// Both passes over one image. The result does not depend on which thread does which block.
class Matching {
 public:
  Matching(const at::Tensor& boxes, const at::Tensor& anchors, int64_t* matched)
      : rows_(anchors.const_data_ptr<float>()),
        count_(anchors.size(0)),
        blocks_((count_ + kMatchBlock - 1) / kMatchBlock),
        boxes_(make_match_boxes(boxes.const_data_ptr<float>(), boxes.size(0))),
        best_of_block_(static_cast<size_t>(blocks_) * boxes_.size()),
        best_index_(static_cast<size_t>(count_)),
        matched_(matched) {}

  /// Each anchor's best box, or why it has none; each box's best IoU, block by block.
  void match(float low, float high) {
    // Blocks differ much in work: most touch few boxes.
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t begin = block * kMatchBlock;
      const AnchorBlock anchors = load(block);
      BlockMatches found;
      match_block(anchors, boxes_, found, best_of(block));
      for (int64_t i = 0; i < anchors.count; ++i) {
        const int32_t index = found.index[i];
        // A NaN is neither below nor between: such an anchor is matched, as in the reference.
        matched_[begin + i] = found.best[i] < low    ? kBackground
                              : found.best[i] < high ? kIgnored
                                                     : index;
        best_index_[static_cast<size_t>(begin + i)] = index;
      }
    }
  }

  /// Low-quality matches. Only blocks that hold a box's best IoU are looked at again.
  void restore() {
    const std::vector<float> best = best_of_boxes();
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t block = 0; block < blocks_; ++block) {
      std::vector<size_t> chosen;
      for (size_t m = 0; m < boxes_.size(); ++m) {
        if (best_of(block)[m] == best[m]) chosen.push_back(m);  // never for NaN, as it should
      }
      if (chosen.empty()) continue;
      const int64_t begin = block * kMatchBlock;
      const AnchorBlock anchors = load(block);
      alignas(64) int32_t is_best[kMatchBlock] = {};
      for (const size_t m : chosen) mark_equal(anchors, boxes_[m], best[m], is_best);
      for (int64_t i = 0; i < anchors.count; ++i) {
        if (is_best[i] != 0) matched_[begin + i] = best_index_[static_cast<size_t>(begin + i)];
      }
    }
  }

 private:
  AnchorBlock load(int64_t block) const {
    const int64_t begin = block * kMatchBlock;
    return load_anchors(rows_ + 4 * begin, std::min(kMatchBlock, count_ - begin));
  }

  float* best_of(int64_t block) {
    return best_of_block_.data() + static_cast<size_t>(block) * boxes_.size();
  }

  /// Over all blocks; NaN if one is.
  std::vector<float> best_of_boxes() {
    std::vector<float> best(boxes_.size());
    for (int64_t block = 0; block < blocks_; ++block) {
      for (size_t m = 0; m < best.size(); ++m) {
        const float found = best_of(block)[m];
        if (found > best[m] || std::isnan(found)) best[m] = found;
      }
    }
    return best;
  }

  const float* rows_;
  int64_t count_;
  int64_t blocks_;
  std::vector<MatchBox> boxes_;
  std::vector<float> best_of_block_;  ///< (blocks, boxes)
  std::vector<int32_t> best_index_;   ///< of each anchor, whatever its IoU
  int64_t* matched_;
};

at::Tensor matcher_custom(const MatcherArguments& arguments) {
  const KernelScope scope("matcher");
  const at::Tensor anchors = float_rows(arguments.anchors, "anchors");
  const at::TensorOptions options = anchors.options().dtype(at::kLong);
  if (arguments.boxes.numel() == 0 || anchors.numel() == 0) {
    return at::full({anchors.size(0)}, kBackground, options);
  }
  const at::Tensor boxes = float_rows(arguments.boxes, "boxes");
  at::Tensor matched = at::empty({anchors.size(0)}, options);
  Matching matching(boxes, anchors, matched.mutable_data_ptr<int64_t>());
  matching.match(static_cast<float>(arguments.low), static_cast<float>(arguments.high));
  matching.restore();
  return matched;
}

}  // namespace

const Register<MatcherFn> registered_matcher_custom{
    matcher_operator(),
    {"custom", "Vectorised blocks of anchors, no boxes x anchors matrix; the reference's bits.",
     matcher_custom}};

}  // namespace harness::kernels
