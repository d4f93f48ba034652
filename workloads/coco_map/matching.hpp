// One half of COCO's evaluation: which detections of an image are right, at which IoU thresholds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/coco_map/coco_map.hpp"

namespace harness::workloads::coco {

/// The IoU thresholds are 0.50, 0.55 .. 0.95.
constexpr std::size_t kThresholds = 10;
constexpr std::size_t kThreshold50 = 0;
constexpr std::size_t kThreshold75 = 5;
/// Of one category on one image; the rest is left out.
constexpr std::size_t kMaxDetections = 100;

/// Ranges of the area, each with both its ends.
enum Size : std::size_t { kAnySize, kSmall, kMedium, kLarge, kSizes };

/// Whether a ground truth of this area is one of `size`. Any size ends at 1e5^2 as well.
bool is_of_size(double area, std::size_t size);

/// A crowd never counts, and no ground truth counts in another size.
inline bool counts(const CocoGroundTruth& target, std::size_t size) {
  return !target.crowd && is_of_size(target.area, size);
}

/// A set of thresholds, a bit each, the lowest first.
using ThresholdSet = std::uint16_t;

/// What became of a detection: per size, the thresholds at which it is right and at which it is
/// wrong. Where it is neither, it does not count.
struct Outcome {
  double score = 0;
  std::size_t rank = 0;  ///< in its category and image; the surest has 0
  std::array<ThresholdSet, kSizes> right{};
  std::array<ThresholdSet, kSizes> wrong{};
};

/// Matches the detections of one category on one image to its ground truths. An object keeps its
/// buffers from image to image.
class ImageMatcher {
 public:
  /// `detections`: at most kMaxDetections, surest first. Appends an outcome for each.
  void match(std::span<const CocoGroundTruth* const> ground_truth,
             std::span<const CocoDetection* const> detections, std::vector<Outcome>& outcomes);

 private:
  struct Candidate {
    std::size_t ground_truth = 0;
    double iou = 0;
  };
  struct Target {
    bool crowd = false;
    bool ignored = false;    // in the size at hand
    ThresholdSet taken = 0;  // in the size at hand
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  void find_candidates(std::span<const CocoGroundTruth* const> ground_truth,
                       std::span<const CocoDetection* const> detections);
  void start_size(std::span<const CocoGroundTruth* const> ground_truth, std::size_t size);
  void match_one(std::size_t detection, std::size_t size, Outcome& outcome);
  std::size_t best_candidate(std::size_t detection, std::size_t threshold, bool ignored) const;
  std::span<const Candidate> candidates_of(std::size_t detection) const {
    return std::span(candidates_)
        .subspan(first_candidate_[detection],
                 first_candidate_[detection + 1] - first_candidate_[detection]);
  }

  std::vector<Candidate> candidates_{};
  std::vector<std::size_t> first_candidate_{};  // per detection, and the end
  std::vector<Target> targets_{};
};

}  // namespace harness::workloads::coco
