// The frozen scene sets: what `fashion-scenes` means, down to the pixel. Quality targets rest on
// them, so nothing here changes; other scenes get a new generator version and a new name.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace harness::workloads {

/// Enters every random number and the cache folder's name.
constexpr int kSceneGeneratorVersion = 1;

enum class SceneSplit { kTrain = 0, kEval = 1 };

inline constexpr std::array kSceneSplits = {SceneSplit::kTrain, SceneSplit::kEval};

/// "train" or "eval": names of folders, JSON files and keys.
const char* to_string(SceneSplit split);

/// SHA-256 that a composed split must have; an empty one is not checked.
struct FrozenSplit {
  std::string pixels{};       ///< over the scenes' pixel hashes (hex, 64 bytes each) in order
  std::string annotations{};  ///< of the JSON file
  /// Over the hashes of the PNG files in order, as zlib itself writes them: files with this hash
  /// have the frozen pixels and need not be decoded to be sure. Other compressors write other
  /// bytes.
  std::string files{};
};

struct SceneSet {
  std::string name{};
  int width = 0;   ///< pixels
  int height = 0;  ///< pixels
  int train_count = 0;
  int eval_count = 0;
  int min_items = 1;
  int max_items = 1;
  int min_side = 0;  ///< pixels; an item's square picture is scaled to a side in [min, max]
  int max_side = 0;
  FrozenSplit frozen_train{};
  FrozenSplit frozen_eval{};
  std::string source_sha256{};  ///< of the Fashion-MNIST it is composed from; empty: any

  int count(SceneSplit split) const {
    return split == SceneSplit::kTrain ? train_count : eval_count;
  }
  const FrozenSplit& frozen(SceneSplit split) const {
    return split == SceneSplit::kTrain ? frozen_train : frozen_eval;
  }
};

/// `full`: 1024x768, 256 and 64 scenes. `mini`: 128x128, 3000 and 400 scenes.
const std::vector<SceneSet>& scene_sets();

/// The set of that name; throws Error with the names there are.
const SceneSet& scene_set(const std::string& name);

}  // namespace harness::workloads
