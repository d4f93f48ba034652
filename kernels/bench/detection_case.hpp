// What the operators behind RetinaNet's heads share: anchors, boxes, matches, head outputs.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "kernels/bench/case.hpp"

namespace harness::kernels::bench {

/// A square image, and what is in it.
struct Detection {
  int64_t image_size = 800;
  int64_t boxes = 10;
  bool typical = true;

  /// Of all five levels: 120,087 at 800 pixels.
  int64_t anchor_count() const;
};

/// (anchors, 4)
at::Tensor detection_anchors(const Detection& detection);
/// (boxes, 4), 16 to 256 pixels wide and high. The same ones at each call.
at::Tensor detection_boxes(const Detection& detection);
/// (anchors) int64, by the reference matcher.
at::Tensor detection_matches(const Detection& detection);

/// What a head writes, one image: (1, A*columns, H, W) channels_last for each level, gradients
/// wanted. The same ones at each call.
std::vector<at::Tensor> head_outputs(const Detection& detection, int64_t columns, bool bf16);

/// A loss over head outputs with its gradient, under autocast in bf16 as in training.
class LossCase : public Case {
 public:
  LossCase(std::vector<at::Tensor> levels, bool bf16, std::function<at::Tensor()> loss)
      : levels_(std::move(levels)), bf16_(bf16), loss_(std::move(loss)) {}

  void run() override;
  std::vector<at::Tensor> results() const override;

 private:
  std::vector<at::Tensor> levels_;
  bool bf16_;
  std::function<at::Tensor()> loss_;
  at::Tensor value_{};
};

}  // namespace harness::kernels::bench
