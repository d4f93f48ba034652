// What was found on a picture as a row of numbers, which is how answers leave a workload.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "workloads/coco_map/coco_map.hpp"
#include "workloads/retinanet/postprocess.hpp"

namespace harness::workloads {

/// How many there are; of each of them x1, y1, x2, y2, score, label; zeros where there are no more.
inline constexpr std::int64_t kNumbersOfDetection = 6;
inline constexpr std::int64_t kNumbersOfPicture = 1 + kNumbersOfDetection * kDetectionsPerImage;

/// (pictures, kNumbersOfPicture), float32: labels and counts are exact in it.
at::Tensor as_rows(const std::vector<Detections>& pictures);

/// Of one row, in the order in which they were found. Throws Error for a row that as_rows() gives
/// nobody.
Detections from_row(const at::Tensor& row);

}  // namespace harness::workloads
