#include "workloads/coco_map/matching.hpp"

#include <algorithm>
#include <cmath>

namespace harness::workloads::coco {
namespace {

constexpr ThresholdSet kAllThresholds = (1U << kThresholds) - 1;

// The same doubles as numpy.linspace gives, since IoUs of neat boxes lie exactly on them. COCO also
// caps a threshold at 1 - 1e-10; these never come near.
constexpr std::array<double, kThresholds> kIouThresholds = [] {
  std::array<double, kThresholds> values{};
  const double step = (0.95 - 0.5) / 9;
  for (std::size_t i = 0; i < kThresholds; ++i) values[i] = static_cast<double>(i) * step + 0.5;
  values.back() = 0.95;
  return values;
}();
static_assert(kIouThresholds[kThreshold50] == 0.5 && kIouThresholds[kThreshold75] == 0.75);

struct AreaRange {
  double low;
  double high;
};
constexpr std::array<AreaRange, kSizes> kAreaRanges = {
    {{0, 1e5 * 1e5}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e5 * 1e5}}};

// IoU; of a crowd, the share of the detection that lies in it. The operations and their order are
// COCO's, since they decide on which side of a threshold a pair falls.
double overlap(const CocoBox& d, const CocoBox& g, bool crowd) {
  const double width = std::min(d.width + d.x, g.width + g.x) - std::max(d.x, g.x);
  if (width <= 0) return 0;
  const double height = std::min(d.height + d.y, g.height + g.y) - std::max(d.y, g.y);
  if (height <= 0) return 0;
  const double intersection = width * height;
  const double detection_area = d.width * d.height;
  const double ground_truth_area = g.width * g.height;
  const double ratio =
      intersection / (crowd ? detection_area : detection_area + ground_truth_area - intersection);
  // Areas beyond what a double holds, large or small. In COCO a NaN matches, and so does whatever
  // ground truth comes after it.
  return std::isnan(ratio) ? 0 : ratio;
}

}  // namespace

bool is_of_size(double area, std::size_t size) {
  return area >= kAreaRanges[size].low && area <= kAreaRanges[size].high;
}

void ImageMatcher::match(std::span<const CocoGroundTruth* const> ground_truth,
                         std::span<const CocoDetection* const> detections,
                         std::vector<Outcome>& outcomes) {
  find_candidates(ground_truth, detections);
  const std::size_t first = outcomes.size();
  for (const CocoDetection* detection : detections) {
    outcomes.push_back({.score = detection->score, .rank = outcomes.size() - first});
  }
  for (std::size_t size = 0; size < kSizes; ++size) {
    start_size(ground_truth, size);
    for (std::size_t d = 0; d < detections.size(); ++d) {
      const CocoBox& box = detections[d]->box;
      Outcome& outcome = outcomes[first + d];
      // Unmatched detections of another size are not wrong, but another size's business.
      if (is_of_size(box.width * box.height, size)) outcome.wrong[size] = kAllThresholds;
      match_one(d, size, outcome);
    }
  }
}

// The pairs that could match at the lowest threshold, once for all sizes: most detections have none
// or one.
void ImageMatcher::find_candidates(std::span<const CocoGroundTruth* const> ground_truth,
                                   std::span<const CocoDetection* const> detections) {
  candidates_.clear();
  first_candidate_.assign(1, 0);
  for (const CocoDetection* detection : detections) {
    for (std::size_t g = 0; g < ground_truth.size(); ++g) {
      const double iou = overlap(detection->box, ground_truth[g]->box, ground_truth[g]->crowd);
      if (iou >= kIouThresholds[0]) candidates_.push_back({g, iou});
    }
    first_candidate_.push_back(candidates_.size());
  }
}

void ImageMatcher::start_size(std::span<const CocoGroundTruth* const> ground_truth,
                              std::size_t size) {
  targets_.clear();
  for (const CocoGroundTruth* target : ground_truth) {
    targets_.push_back({.crowd = target->crowd, .ignored = !counts(*target, size)});
  }
}

void ImageMatcher::match_one(std::size_t detection, std::size_t size, Outcome& outcome) {
  if (candidates_of(detection).empty()) return;
  for (std::size_t t = 0; t < kThresholds; ++t) {
    // Ignored ground truths are for detections that found no other.
    std::size_t found = best_candidate(detection, t, false);
    if (found == kNone) found = best_candidate(detection, t, true);
    if (found == kNone) continue;
    const auto bit = static_cast<ThresholdSet>(1U << t);
    targets_[found].taken |= bit;
    outcome.wrong[size] &= static_cast<ThresholdSet>(~bit);
    if (!targets_[found].ignored) outcome.right[size] |= bit;
  }
}

// The free ground truth with the largest IoU, the last of equal ones.
std::size_t ImageMatcher::best_candidate(std::size_t detection, std::size_t threshold,
                                         bool ignored) const {
  double best = kIouThresholds[threshold];
  std::size_t found = kNone;
  for (const Candidate& candidate : candidates_of(detection)) {
    const Target& target = targets_[candidate.ground_truth];
    const bool taken = ((target.taken >> threshold) & 1U) != 0 && !target.crowd;
    if (target.ignored != ignored || taken || candidate.iou < best) continue;
    best = candidate.iou;
    found = candidate.ground_truth;
  }
  return found;
}

}  // namespace harness::workloads::coco
