// RetinaNet: ResNeXt body, feature pyramid, shared heads; by default MLPerf Training v5.1's, of
// ResNeXt50_32x4d and P3-P7.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/box_loss/box_loss.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/focal_loss/focal_loss.hpp"
#include "kernels/matcher/matcher.hpp"
#include "kernels/runtime/autocast.hpp"
#include "workloads/retinanet/parameters.hpp"
#include "workloads/retinanet/postprocess.hpp"
#include "workloads/retinanet/transform.hpp"

namespace harness::workloads {

struct RetinaNetConfig {
  int64_t num_classes = 264;
  int64_t height = 800;  ///< images are resized to height x width
  int64_t width = 800;
  bool bf16 = false;  ///< autocast, weights stay float32
  kernels::Selection kernels{};
  Architecture architecture{};
};

/// What the heads wrote: one map per level, P3 first, as it lies in memory.
struct HeadOutputs {
  std::vector<at::Tensor> logits{};  ///< (N, 9*classes, H, W)
  std::vector<at::Tensor> codes{};   ///< (N, 9*4, H, W)
};

struct Losses {
  at::Tensor classification{};  ///< scalar
  at::Tensor box{};             ///< scalar
  /// What training minimises: the plain sum.
  at::Tensor total() const { return classification + box; }
};

class RetinaNet {
 public:
  /// Allocates the parameters, all zero; see parameters().set_initial_values(). Throws
  /// std::invalid_argument when `config.kernels` asks for what does not exist or cannot run here,
  /// or `config.architecture` for what check_architecture() refuses.
  explicit RetinaNet(const RetinaNetConfig& config);

  const RetinaNetConfig& config() const { return config_; }
  RetinaNetParameters& parameters() { return parameters_; }
  const RetinaNetParameters& parameters() const { return parameters_; }
  /// (anchors, 4), the same for every image.
  const at::Tensor& anchors() const { return anchors_; }

  /// Images as transform() gives them, (N, 3, height, width).
  HeadOutputs forward(const at::Tensor& images) const;
  /// Per image (anchors) int64: index of the matched box, -1 background, -2 ignored.
  std::vector<at::Tensor> match(const std::vector<Target>& targets) const;
  /// `targets` as transform() gives them, one per image.
  Losses loss(const HeadOutputs& outputs, const std::vector<Target>& targets) const;
  Losses loss(const HeadOutputs& outputs, const std::vector<Target>& targets,
              const std::vector<at::Tensor>& matched) const;

  /// Images (3, H, W) float32 in [0, 1] of any size; boxes in pixels of each original image.
  std::vector<Detections> detect(const std::vector<at::Tensor>& images) const;
  /// Of images as transform() gives them.
  std::vector<Detections> detect_batch(const Batch& batch) const;

 private:
  struct Layer {
    ConvLayer shape{};
    at::Tensor weight{};
    std::optional<at::Tensor> bias{};
    kernels::FrozenBatchNorm norm{};
  };

  Layer make_layer(const ConvLayer& shape) const;
  /// `for_layers`: nothing but layers reads what it gives, so int8 may leave it in eight bits.
  at::Tensor apply(const Layer& layer, const at::Tensor& input, bool relu,
                   const std::optional<at::Tensor>& residual = {}, bool for_layers = true) const;
  std::vector<at::Tensor> body(const at::Tensor& images) const;
  std::vector<at::Tensor> pyramid(const std::vector<at::Tensor>& maps) const;
  std::vector<at::Tensor> head(size_t first_layer, const std::vector<at::Tensor>& levels) const;

  RetinaNetConfig config_;
  kernels::ConvBlockFn* conv_block_;
  kernels::FocalLossFn* focal_loss_;
  kernels::BoxLossFn* box_loss_;
  kernels::MatcherFn* matcher_;
  RetinaNetParameters parameters_;
  LayerPlaces places_;
  std::vector<Layer> layers_;  ///< in the table's order
  std::vector<at::Tensor> level_anchors_;
  at::Tensor anchors_;
};

}  // namespace harness::workloads
