// `fashion-masks`: the scenes of fashion-scenes with the class of each pixel.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "harness/base/types.hpp"
#include "workloads/data/fashion_mnist.hpp"
#include "workloads/data/parallel.hpp"
#include "workloads/data/scene_set.hpp"

namespace harness::workloads {

/// Background, then the ten classes of Fashion-MNIST.
inline constexpr std::int64_t kMaskClasses = 11;

/// A split, composed in memory.
struct MaskedScenes {
  at::Tensor pictures{};  ///< (N, 3, H, W), uint8, channels_last
  at::Tensor masks{};     ///< (N, H, W), uint8, below kMaskClasses
  std::string sha256{};   ///< over the hashes of pictures and masks, in order

  std::int64_t count() const { return masks.size(0); }
};

/// Composes them from the Fashion-MNIST at hand. Throws Error where that is missing, or the
/// pictures are not the frozen ones.
MaskedScenes compose_masked(const SceneSet& set, SceneSplit split, const Preparation& preparation);

/// (1, 3, H, W), uint8, channels_last: one picture of a split, without its mask.
at::Tensor scene_picture(const FashionMnist& source, const SceneSet& set, SceneSplit split,
                         std::int64_t scene);

/// Of scenes that the result was made on.
Artifact masks_artifact(const SceneSet& set, const std::string& sha256, std::int64_t eval_count);

/// (N, 3, H, W), float32, channels_last: from 0 to 1, less ImageNet's mean, by its deviation.
at::Tensor prepared_scenes(const at::Tensor& pictures);

}  // namespace harness::workloads
