// Where a run's pictures and boxes come from: a folder of the user's, or our own scenes.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/types.hpp"
#include "workloads/data/annotations.hpp"
#include "workloads/data/parallel.hpp"
#include "workloads/data/scene_set.hpp"

namespace harness::workloads {

/// One split's annotation file and the folder its file names are relative to.
struct SplitPlace {
  std::filesystem::path annotations{};
  std::filesystem::path images{};
};

/// A data folder whose layout was recognised; nothing is read yet.
struct DataLayout {
  std::string name{};  ///< "plain", "coco", "openimages-mlperf"
  std::filesystem::path root{};
  SplitPlace train{};
  SplitPlace eval{};
  AnnotationPolicy policy{};  ///< what this kind of data keeps
};

/// Data that was opened: annotations read, every file that a manifest lists verified, every image
/// of the annotations there.
struct DataSource {
  DataLayout layout{};
  AnnotationSet train{};
  AnnotationSet eval{};
  Artifact artifact{};  ///< for the result file: name, source, SHA-256, counts in `details`
};

/// Recognises, in this order:
///   plain              train.json, eval.json beside train/, eval/ (what our scenes use)
///   coco               annotations/instances_{train,val}2017.json beside train2017/, val2017/
///   openimages-mlperf  {train,validation}/labels/openimages-mlperf.json beside data/
/// Throws Error when the folder is missing, empty, or none of these (it says what was looked for).
DataLayout find_layout(const std::filesystem::path& folder, int num_classes);

/// Opens `--data DIR`. With a manifest.json (format harness-data/1) every file is hashed and every
/// image must be listed; without one the artifact's SHA-256 covers the annotation files only and
/// `details["images_hashed"]` is "false".
DataSource open_data_folder(const std::filesystem::path& folder, int num_classes,
                            const Preparation& preparation);

/// Opens the default data, composing it first where it is not in the cache yet. The artifact's
/// SHA-256 covers the frozen pixels and annotations and so is the same on every machine.
DataSource open_fashion_scenes(const SceneSet& set, int num_classes, const Preparation& preparation,
                               const std::filesystem::path& cache = {});

}  // namespace harness::workloads
