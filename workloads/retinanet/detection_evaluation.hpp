// COCO's detection quality of a RetinaNet on a whole split.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/workload/workload.hpp"
#include "workloads/coco_map/coco_map.hpp"
#include "workloads/data/annotations.hpp"
#include "workloads/retinanet/model.hpp"

namespace harness::workloads {

struct EvaluationOptions {
  std::int64_t batch_size = 16;  ///< changes the speed, and rounding; not which images count
  int workers = 2;               ///< threads that decode ahead
};

inline constexpr const char* kDetectionMetric = "mAP";

/// The split's ground truth: ids of images are the file's, those of categories the labels, that is
/// columns of the logits. Throws Error when no box counts: none at all, or only crowds.
std::vector<CocoGroundTruth> coco_ground_truth(const AnnotationSet& set);

/// What was found on one image, boxes in double.
std::vector<CocoDetection> coco_detections(const Detections& found, std::int64_t image_id);

/// The metric "mAP", with the other numbers of the same evaluation.
Quality detection_quality(const CocoMetrics& metrics);

/// Detects on every image of `set` (read with AnnotationPolicy::for_evaluation), in its order, and
/// evaluates. Between batches it calls context.progress("evaluating", images done, images) and
/// context.interrupted(); of the context nothing else is used. Throws Error for a split without
/// images or without a box that counts, an image that cannot be decoded, and a detection whose box
/// is not finite. Of several ranks each detects on its part of the images, in whole
/// batches, and all come to the numbers that one alone would.
CocoMetrics evaluate_detections(const RetinaNet& model, const AnnotationSet& set,
                                const EvaluationOptions& options, const WorkloadContext& context);

}  // namespace harness::workloads
