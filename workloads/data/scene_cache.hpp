// Scenes on disk: composed once into the user's cache folder, verified before each use.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/data/fashion_mnist.hpp"
#include "workloads/data/manifest.hpp"
#include "workloads/data/parallel.hpp"
#include "workloads/data/scene_generator.hpp"
#include "workloads/data/scene_set.hpp"

namespace harness::workloads {

/// A verified scene set: `train.json` with `train/NNNNNN.png`, `eval.json` with `eval/NNNNNN.png`
/// (COCO format, image id = scene index, category ids 0..9), `manifest.json`.
struct SceneCache {
  std::filesystem::path folder{};
  Manifest manifest{};
  bool composed = false;  ///< now, rather than found
};

/// Finds the set under `cache` (default: cache_folder()/fashion-scenes) or composes it there, and
/// verifies every file against the manifest, and files or pixels against the frozen hashes.
/// Composition goes to a temporary folder that is renamed when all is written and its pixels and
/// annotations hash to the frozen values; one process composes, others wait for it. Throws Error
/// when the source or disk space is missing, or a file found there is damaged (it says which, and
/// that deleting the folder composes it again).
SceneCache open_scene_cache(const SceneSet& set, const Preparation& preparation,
                            std::filesystem::path cache = {});

/// The COCO-format text of a split; `items[i]` are those of scene i.
std::string annotations_json(const SceneSet& set, SceneSplit split,
                             const std::vector<std::vector<SceneItem>>& items);

/// `NNNNNN.png`
std::string scene_file_name(int index);

/// Its path in the set's folder, and key in the manifest: `train/NNNNNN.png`.
std::string scene_file(SceneSplit split, int index);

}  // namespace harness::workloads
