// COCO's twelve bounding-box numbers: mean average precision and recall of detections. The
// definition is that of COCO's detection challenge (cocodataset.org, "Detection Evaluation"), whose
// published program is pycocotools; tests/oracle/coco_map_oracle.py holds the two together to 1e-9.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace harness::workloads {

/// Upper left corner and extent in pixels, as in COCO's files.
struct CocoBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

struct CocoGroundTruth {
  std::int64_t image_id = 0;
  std::int64_t category_id = 0;
  CocoBox box{};
  double area = 0;     ///< in pixels; what makes it small, medium or large, whatever the box's area
  bool crowd = false;  ///< a group: any number of detections may fall on it, none is counted
};

struct CocoDetection {
  std::int64_t image_id = 0;
  std::int64_t category_id = 0;
  CocoBox box{};
  double score = 0;  ///< higher is surer
};

/// The twelve numbers, each in [0, 1], or -1 (COCO's "absent") where no ground truth counts: none
/// of that size, or only crowds. Never NaN. A mean over categories leaves out those without ground
/// truth that counts, and what was detected of them.
struct CocoMetrics {
  double ap = -1;         ///< mean over IoU thresholds 0.50, 0.55 .. 0.95: MLPerf's quality "mAP"
  double ap_50 = -1;      ///< at IoU 0.50
  double ap_75 = -1;      ///< at IoU 0.75
  double ap_small = -1;   ///< area up to 32^2
  double ap_medium = -1;  ///< area 32^2 .. 96^2, both ends included here and in the neighbours
  double ap_large = -1;   ///< area from 96^2
  double ar_1 = -1;       ///< recall with the surest detection of each image and category
  double ar_10 = -1;      ///< with the surest ten
  double ar_100 = -1;     ///< with the surest hundred, which is the limit for all other numbers too
  double ar_small = -1;
  double ar_medium = -1;
  double ar_large = -1;
};

struct CocoMetric {
  std::string_view name;  ///< as the member of CocoMetrics
  double value = -1;
};

/// The numbers with their names, in the order in which pycocotools prints them.
std::array<CocoMetric, 12> list_metrics(const CocoMetrics& metrics);

/// Evaluates detections against ground truth. Images and categories are those that occur in either;
/// one without anything changes none of the numbers, so there is no list of them. Ids are any
/// integers. Equal scores go by ascending image id, within an image by their order in `detections`;
/// of ground truths that fit equally well the later in `ground_truth` is taken.
///
/// Throws Error that names the element for what has no meaning: NaN or infinity in a box, an area
/// or a score, and a negative width, height or area. Boxes without area are taken, and match
/// nothing.
///
/// Differs from pycocotools in two points. That takes an annotation whose id in the file is 0 for
/// never matched; here each annotation counts. And where areas overflow or vanish in a double
/// (beyond 1e150 pixels a side, below 1e-150), its IoU is NaN and matches anything; here nothing.
CocoMetrics evaluate_coco_boxes(std::span<const CocoGroundTruth> ground_truth,
                                std::span<const CocoDetection> detections);

}  // namespace harness::workloads
