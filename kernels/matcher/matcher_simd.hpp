// Overlaps of a block of anchors with boxes, vectorised: what `matcher=custom` repeats per block.
// Every IoU has the bits of box_iou() in float32, NaN included.
#pragma once

#include <cstdint>
#include <vector>

namespace harness::kernels {

/// Anchors of a block; a multiple of every vector length.
inline constexpr int64_t kMatchBlock = 512;

struct MatchBox {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  float area = 0;
  bool proper = false;  ///< finite, area not negative: no IoU of it can be NaN but 0/0
};

/// From `count` rows (x1, y1, x2, y2).
std::vector<MatchBox> make_match_boxes(const float* rows, int64_t count);

/// The anchors of a block as columns. Places from `count` on repeat the last anchor.
struct alignas(64) AnchorBlock {
  float x1[kMatchBlock], y1[kMatchBlock], x2[kMatchBlock], y2[kMatchBlock];
  float area[kMatchBlock];
  int64_t count = 0;
  float left = 0, top = 0, right = 0, bottom = 0;  ///< around all anchors; if proper
  bool proper = false;                             ///< finite, all areas positive
};

/// `count` rows (x1, y1, x2, y2), from 1 to kMatchBlock.
AnchorBlock load_anchors(const float* rows, int64_t count);

/// The best box of each anchor of a block.
struct alignas(64) BlockMatches {
  float best[kMatchBlock];     ///< IoU; the first NaN counts as the best, as in at::max
  int32_t index[kMatchBlock];  ///< of the first box that reaches it
};

/// Fills `matches`, and best_of_box[m] with the best IoU of boxes[m] within the block, NaN if one
/// is.
void match_block(const AnchorBlock& anchors, const std::vector<MatchBox>& boxes,
                 BlockMatches& matches, float* best_of_box);

/// Sets is_equal[i] for each anchor whose IoU with `box` equals `iou`; leaves the others.
/// `is_equal` has kMatchBlock places.
void mark_equal(const AnchorBlock& anchors, const MatchBox& box, float iou, int32_t* is_equal);

}  // namespace harness::kernels
