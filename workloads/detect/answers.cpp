#include "workloads/detect/answers.hpp"

#include <ATen/ATen.h>

#include "harness/base/error.hpp"

namespace harness::workloads {

at::Tensor as_rows(const std::vector<Detections>& pictures) {
  at::Tensor rows = at::zeros({static_cast<std::int64_t>(pictures.size()), kNumbersOfPicture});
  float* row = rows.mutable_data_ptr<float>();
  for (const Detections& found : pictures) {
    const std::int64_t count = found.scores.size(0);
    row[0] = static_cast<float>(count);
    const at::Tensor numbers =
        at::cat({found.boxes.to(at::kFloat), found.scores.to(at::kFloat).unsqueeze(1),
                 found.labels.to(at::kFloat).unsqueeze(1)},
                1)
            .contiguous();
    const float* const first = numbers.const_data_ptr<float>();
    std::copy(first, first + numbers.numel(), row + 1);
    row += kNumbersOfPicture;
  }
  return rows;
}

Detections from_row(const at::Tensor& row) {
  const auto count = row.size(0) == kNumbersOfPicture ? row[0].item<double>() : -1;
  if (!(count >= 0 && count <= kDetectionsPerImage)) {
    throw Error("an answer",
                "is no list of at most " + std::to_string(kDetectionsPerImage) + " detections");
  }
  const at::Tensor numbers = row.slice(0, 1)
                                 .view({kDetectionsPerImage, kNumbersOfDetection})
                                 .slice(0, 0, static_cast<std::int64_t>(count));
  return {.boxes = numbers.slice(1, 0, 4),
          .scores = numbers.select(1, 4),
          .labels = numbers.select(1, 5).to(at::kLong)};
}

}  // namespace harness::workloads
