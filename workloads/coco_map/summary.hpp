// The other half of COCO's evaluation: from outcomes to average precision, recall and their means.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "workloads/coco_map/coco_map.hpp"
#include "workloads/coco_map/matching.hpp"

namespace harness::workloads::coco {

/// A running mean; -1, COCO's "absent", of nothing.
class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? -1 : sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

/// Precision over recall of one category, size and threshold. An object keeps its buffer from curve
/// to curve.
class PrecisionCurve {
 public:
  /// `outcomes`: the surest first.
  void draw(std::span<const Outcome> outcomes, std::size_t size, std::size_t threshold);

  /// How many ground truths were found.
  std::size_t found() const { return precisions_.size(); }

  /// The mean precision at the recalls 0, 0.01 .. 1. `positives` > 0: how many were to be found.
  double average(std::size_t positives) const;

 private:
  std::vector<double> precisions_{};  // [n]: the best one with n + 1 or more found
};

/// Takes one category after another into the twelve numbers.
class Summary {
 public:
  /// `outcomes`: of all images, in COCO's order: by image id, then the surest first; sorted here by
  /// score. `positives`: per size, the ground truths that count.
  void add_category(std::vector<Outcome>& outcomes,
                    const std::array<std::size_t, kSizes>& positives);

  CocoMetrics metrics() const;

 private:
  std::array<Mean, kSizes> precision_{};
  std::array<Mean, kSizes> recall_{};
  Mean precision_50_{};
  Mean precision_75_{};
  Mean recall_1_{};
  Mean recall_10_{};
  PrecisionCurve curve_{};
};

}  // namespace harness::workloads::coco
