// Boxes for the tests of COCO's evaluation.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/coco_map/coco_map.hpp"

namespace harness::workloads {

using Truths = std::vector<CocoGroundTruth>;
using Detections = std::vector<CocoDetection>;

inline constexpr CocoBox kBox = {10, 10, 20, 20};          // small
inline constexpr CocoBox kElsewhere = {200, 200, 20, 20};  // overlaps none of the others

inline CocoGroundTruth truth(const CocoBox& box = kBox, std::int64_t image = 1) {
  return {.image_id = image, .category_id = 1, .box = box, .area = box.width * box.height};
}

inline CocoGroundTruth crowd(const CocoBox& box) {
  CocoGroundTruth result = truth(box);
  result.crowd = true;
  return result;
}

inline CocoDetection detection(double score, const CocoBox& box = kBox, std::int64_t image = 1) {
  return {.image_id = image, .category_id = 1, .box = box, .score = score};
}

inline std::vector<double> values(const CocoMetrics& metrics) {
  std::vector<double> result;
  for (const CocoMetric& metric : list_metrics(metrics)) result.push_back(metric.value);
  return result;
}

}  // namespace harness::workloads
