// `fashion-scenes`: real Fashion-MNIST pictures composed into scenes for object detection. Integer
// arithmetic and counter-based random numbers only: the same pixels on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/data/fashion_mnist.hpp"
#include "workloads/data/image.hpp"
#include "workloads/data/scene_set.hpp"

namespace harness::workloads {

/// One item in a scene: the tight bounds of its visible pixels, and its class.
struct SceneItem {
  int x = 0;       ///< left column
  int y = 0;       ///< top row
  int width = 0;   ///< columns, at least 1
  int height = 0;  ///< rows, at least 1
  int label = 0;   ///< 0..9, index of kFashionClasses
};

struct Scene {
  Image image{};
  /// For each pixel, row by row: 0 for the background, else 1 + the label of what was drawn last.
  std::vector<std::uint8_t> mask{};
  std::vector<SceneItem> items{};  ///< in drawing order: later ones may cover earlier ones a little
};

/// Scene `index` of a split: training scenes show pictures of the training split only, evaluation
/// scenes of the test split only. Depends on its arguments alone.
Scene compose_scene(const FashionMnist& source, const SceneSet& set, SceneSplit split, int index);

}  // namespace harness::workloads
