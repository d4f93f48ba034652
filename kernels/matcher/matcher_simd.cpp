// One source for all targets; Highway compiles it once for each and picks the widest at run time.
// Compiled without fused multiply-adds: the reference rounds after each operation.
#include "kernels/matcher/matcher_simd.hpp"

#include <cstddef>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matcher/matcher_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace harness::kernels {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Min and Max may drop a NaN coordinate, where the reference keeps it. The IoU is NaN all the same:
// a NaN coordinate makes the area NaN, and so does every infinity that could turn into NaN here.
template <class D>
HWY_INLINE hn::Vec<D> intersection(D d, const MatchBox& box, const AnchorBlock& anchors,
                                   std::size_t i) {
  const auto width = hn::Sub(hn::Min(hn::Set(d, box.x2), hn::Load(d, anchors.x2 + i)),
                             hn::Max(hn::Set(d, box.x1), hn::Load(d, anchors.x1 + i)));
  const auto height = hn::Sub(hn::Min(hn::Set(d, box.y2), hn::Load(d, anchors.y2 + i)),
                              hn::Max(hn::Set(d, box.y1), hn::Load(d, anchors.y1 + i)));
  return hn::Mul(hn::Max(width, hn::Zero(d)), hn::Max(height, hn::Zero(d)));
}

template <class D>
HWY_INLINE hn::Vec<D> iou_of(D d, hn::Vec<D> common, const MatchBox& box,
                             const AnchorBlock& anchors, std::size_t i) {
  const auto areas = hn::Add(hn::Set(d, box.area), hn::Load(d, anchors.area + i));
  return hn::Div(common, hn::Sub(areas, common));
}

/// Whether all IoUs are 0 for sure. The other extent of the intersection is finite, as both are
/// proper, and the union positive.
bool is_apart(const AnchorBlock& anchors, const MatchBox& box) {
  return anchors.proper && box.proper &&
         (box.x2 <= anchors.left || box.x1 >= anchors.right || box.y2 <= anchors.top ||
          box.y1 >= anchors.bottom);
}

std::size_t used_places(const AnchorBlock& anchors, std::size_t lanes) {
  return (static_cast<std::size_t>(anchors.count) + lanes - 1) / lanes * lanes;
}

void match_block(const AnchorBlock& anchors, const std::vector<MatchBox>& boxes,
                 BlockMatches& matches, float* best_of_box) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t places = used_places(anchors, lanes);
  // An IoU is NaN or at least 0, so box 0 with an IoU of 0 is where the search starts.
  for (std::size_t i = 0; i < places; i += lanes) {
    hn::Store(hn::Zero(d), d, matches.best + i);
    hn::Store(hn::Zero(di), di, matches.index + i);
  }
  for (std::size_t m = 0; m < boxes.size(); ++m) {
    const MatchBox box = boxes[m];  // a copy: known to be no target of the stores below
    best_of_box[m] = 0;
    if (is_apart(anchors, box)) continue;
    const bool both_proper = anchors.proper && box.proper;
    const auto number = hn::Set(di, static_cast<int32_t>(m));
    auto row_best = hn::Zero(d);
    auto row_nan = hn::Zero(d);
    for (std::size_t i = 0; i < places; i += lanes) {
      const auto common = intersection(d, box, anchors, i);
      // Divisions are most of the work, and most vectors are off the box: their IoUs are 0.
      if (both_proper && hn::AllTrue(d, hn::Eq(common, hn::Zero(d)))) continue;
      const auto iou = iou_of(d, common, box, anchors, i);
      const auto is_nan = hn::IsNaN(iou);
      const auto best = hn::Load(d, matches.best + i);
      // As at::max: a larger one, or the first NaN, which nothing beats.
      const auto is_better = hn::Or(hn::Gt(iou, best), hn::AndNot(hn::IsNaN(best), is_nan));
      hn::Store(hn::IfThenElse(is_better, iou, best), d, matches.best + i);
      const auto index = hn::Load(di, matches.index + i);
      hn::Store(hn::IfThenElse(hn::RebindMask(di, is_better), number, index), di,
                matches.index + i);
      row_best = hn::IfThenElse(hn::Gt(iou, row_best), iou, row_best);
      row_nan = hn::IfThenElse(is_nan, iou, row_nan);
    }
    best_of_box[m] = hn::AllFalse(d, hn::IsNaN(row_nan)) ? hn::GetLane(hn::MaxOfLanes(d, row_best))
                                                         : std::numeric_limits<float>::quiet_NaN();
  }
}

void mark_equal(const AnchorBlock& anchors, const MatchBox& box, float iou, int32_t* is_equal) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t places = used_places(anchors, lanes);
  const auto wanted = hn::Set(d, iou);
  for (std::size_t i = 0; i < places; i += lanes) {
    const auto found = iou_of(d, intersection(d, box, anchors, i), box, anchors, i);
    const auto equal = hn::VecFromMask(di, hn::RebindMask(di, hn::Eq(found, wanted)));
    hn::Store(hn::Or(hn::Load(di, is_equal + i), equal), di, is_equal + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace harness::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cmath>

namespace harness::kernels {
namespace {

HWY_EXPORT(match_block);
HWY_EXPORT(mark_equal);

}  // namespace

std::vector<MatchBox> make_match_boxes(const float* rows, int64_t count) {
  std::vector<MatchBox> boxes;
  boxes.reserve(static_cast<std::size_t>(count));
  for (int64_t m = 0; m < count; ++m) {
    const float* row = rows + 4 * m;
    const float area = (row[2] - row[0]) * (row[3] - row[1]);
    boxes.push_back({row[0], row[1], row[2], row[3], area, std::isfinite(area) && area >= 0});
  }
  return boxes;
}

AnchorBlock load_anchors(const float* rows, int64_t count) {
  AnchorBlock block;
  block.count = count;
  block.proper = true;
  block.left = block.right = rows[0];
  block.top = block.bottom = rows[1];
  for (int64_t i = 0; i < kMatchBlock; ++i) {
    const float* row = rows + 4 * std::min(i, count - 1);
    block.x1[i] = row[0];
    block.y1[i] = row[1];
    block.x2[i] = row[2];
    block.y2[i] = row[3];
    const float area = (row[2] - row[0]) * (row[3] - row[1]);
    block.area[i] = area;
    // An area that is finite comes from finite coordinates.
    block.proper = block.proper && area > 0 && std::isfinite(area);
    block.left = std::min(block.left, row[0]);
    block.top = std::min(block.top, row[1]);
    block.right = std::max(block.right, row[2]);
    block.bottom = std::max(block.bottom, row[3]);
  }
  return block;
}

void match_block(const AnchorBlock& anchors, const std::vector<MatchBox>& boxes,
                 BlockMatches& matches, float* best_of_box) {
  HWY_DYNAMIC_DISPATCH(match_block)(anchors, boxes, matches, best_of_box);
}

void mark_equal(const AnchorBlock& anchors, const MatchBox& box, float iou, int32_t* is_equal) {
  HWY_DYNAMIC_DISPATCH(mark_equal)(anchors, box, iou, is_equal);
}

}  // namespace harness::kernels

#endif  // HWY_ONCE
