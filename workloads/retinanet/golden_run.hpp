// What this model computes for the case of a golden file.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <vector>

#include "harness/base/types.hpp"
#include "workloads/distributed/torch_ranks.hpp"
#include "workloads/retinanet/golden_file.hpp"
#include "workloads/retinanet/model.hpp"

namespace harness::workloads {

struct GoldenRun {
  double classification_loss = 0;
  double box_loss = 0;
  at::Tensor logits{};                            ///< (N, anchors, classes)
  at::Tensor codes{};                             ///< (N, anchors, 4)
  at::Tensor anchors{};                           ///< (anchors, 4)
  std::vector<at::Tensor> matched{};              ///< per image (anchors) int64
  std::map<std::string, at::Tensor> gradients{};  ///< undefined where none arrived
  std::vector<Detections> detections{};           ///< per image, with the case's shifted bias
  double classification_loss_after_adam = 0;
  double box_loss_after_adam = 0;
};

/// Builds the model, fills it by the case's formulas, and runs forward, backward, detection, one
/// Adam step and forward again. Reads only the case, none of the expected values. Throws Error when
/// the case's tensors are not this model's. Of several `ranks` each runs its part of the images,
/// and all come to the same; throws Error where there are more ranks than images.
GoldenRun run_golden(const GoldenCase& golden, const KernelSet& kernels, bool bf16,
                     TorchRanks* ranks = nullptr);

/// Of that what inference has: logits, codes, anchors and detections. `model` has the case's
/// classes and size, and its values.
GoldenRun answer_golden(const GoldenCase& golden, RetinaNet& model);

/// Gives the model the values of the case's tensors. Throws Error when they are not this model's.
void fill_by_golden(const GoldenCase& golden, ParameterStore& parameters);

/// The bias that the case's detections are shifted by; adding to it shifts them.
at::Tensor detection_bias(const ParameterStore& parameters);

}  // namespace harness::workloads
