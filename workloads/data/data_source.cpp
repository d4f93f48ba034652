#include "workloads/data/data_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/manifest.hpp"
#include "workloads/data/scene_cache.hpp"
#include "workloads/data/scene_pixels.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) { return printable(path.string()); }

std::vector<DataLayout> known_layouts(const fs::path& root, int num_classes) {
  const AnnotationPolicy keep_all{num_classes, true, true};
  // The reference's COCO path drops groups and images without boxes.
  const AnnotationPolicy drop{num_classes, false, false};
  const char* mlperf = "openimages-mlperf.json";
  return {
      {"plain",
       root,
       {root / "train.json", root / "train"},
       {root / "eval.json", root / "eval"},
       keep_all},
      {"coco",
       root,
       {root / "annotations" / "instances_train2017.json", root / "train2017"},
       {root / "annotations" / "instances_val2017.json", root / "val2017"},
       drop},
      {"openimages-mlperf",
       root,
       {root / "train" / "labels" / mlperf, root / "train" / "data"},
       {root / "validation" / "labels" / mlperf, root / "validation" / "data"},
       keep_all},
  };
}

/// Every image is looked for before the clock starts: a run must not end in its tenth hour for one
/// that is missing. `listed`: with a manifest, what it lists.
void check_images(const DataLayout& layout, const AnnotationSet& set, const Manifest* manifest,
                  const Preparation& preparation) {
  constexpr std::size_t kBatch = 1024;
  const std::string prefix =
      set.image_folder.lexically_relative(layout.root).generic_string() + "/";
  const std::size_t count = set.images.size();
  parallel_for((count + kBatch - 1) / kBatch, "looking for images", preparation,
               [&](std::size_t b) {
                 for (std::size_t i = b * kBatch; i < std::min(count, (b + 1) * kBatch); ++i) {
                   const std::string& file = set.images[i].file_name;
                   if (manifest != nullptr && !manifest->files.contains(prefix + file)) {
                     throw Error(shown(layout.root / "manifest.json"),
                                 "does not list the image " + printable(prefix + file));
                   }
                   std::error_code error;
                   const fs::path path = set.image_folder / file;
                   if (!fs::is_regular_file(path, error)) {
                     throw Error(shown(path), "the image is missing, the annotations list it");
                   }
                 }
               });
}

void describe(const AnnotationSet& set, const std::string& split, Artifact& artifact) {
  const AnnotationReport& report = set.report;
  const auto put = [&](const char* key, std::size_t value) {
    artifact.details[split + "_" + key] = std::to_string(value);
  };
  put("images", report.images_kept);
  put("images_without_boxes", report.images_without_boxes);
  put("boxes", report.boxes_kept);
  put("boxes_clamped", report.boxes_clamped);
  put("boxes_dropped_not_finite", report.dropped_not_finite);
  put("boxes_dropped_degenerate", report.dropped_degenerate);
  put("boxes_dropped_crowd", report.dropped_crowd);
  artifact.details[split + "_annotations_sha256"] = report.sha256;
  artifact.details["categories"] = std::to_string(set.categories.size());
  artifact.details["categories_renumbered"] = report.categories_renumbered ? "true" : "false";
}

/// A label must mean the same in training and evaluation.
void check_same_categories(const DataSource& source) {
  const auto& a = source.train.categories;
  const auto& b = source.eval.categories;
  const bool same = std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const Category& x, const Category& y) { return x.id == y.id && x.name == y.name; });
  if (!same) {
    throw Error(shown(source.layout.eval.annotations),
                "its categories differ from those of " + shown(source.layout.train.annotations));
  }
}

DataSource open_layout(const DataLayout& layout, const Manifest* manifest,
                       const Preparation& preparation) {
  DataSource source;
  source.layout = layout;
  for (const auto& [place, set] :
       {std::pair{&layout.train, &source.train}, std::pair{&layout.eval, &source.eval}}) {
    AnnotationPolicy policy = layout.policy;
    policy.for_evaluation = set == &source.eval;
    *set = read_annotations(place->annotations, place->images, policy, preparation);
    check_images(layout, *set, manifest, preparation);
  }
  check_same_categories(source);
  describe(source.train, "train", source.artifact);
  describe(source.eval, "eval", source.artifact);
  source.artifact.details["layout"] = layout.name;
  source.artifact.details["images_hashed"] = manifest != nullptr ? "true" : "false";
  return source;
}

}  // namespace

DataLayout find_layout(const fs::path& folder, int num_classes) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    throw Error(shown(folder), "the data folder does not exist", "check --data");
  }
  if (!fs::is_directory(folder, error)) {
    throw Error(shown(folder), "is not a folder", "--data takes a folder in COCO format");
  }
  const fs::directory_iterator content(folder, error);
  if (error) throw Error(shown(folder), "cannot be read: " + error.message());
  if (content == fs::directory_iterator()) throw Error(shown(folder), "the data folder is empty");

  std::string looked_for;
  for (const DataLayout& layout : known_layouts(folder, num_classes)) {
    const bool train = fs::exists(layout.train.annotations, error);
    const bool eval = fs::exists(layout.eval.annotations, error);
    if (train && eval) {
      for (const SplitPlace* place : {&layout.train, &layout.eval}) {
        if (!fs::is_directory(place->images, error)) {
          throw Error(shown(place->images), "the image folder is missing",
                      "it belongs to " + shown(place->annotations));
        }
      }
      return layout;
    }
    if (train || eval) {
      throw Error(shown(train ? layout.eval.annotations : layout.train.annotations),
                  "is missing, but " +
                      shown(train ? layout.train.annotations : layout.eval.annotations) +
                      " is there",
                  "training needs both");
    }
    looked_for += (looked_for.empty() ? "" : ", ") +
                  layout.train.annotations.lexically_relative(folder).generic_string();
  }
  throw Error(shown(folder), "holds no annotation file that is known here",
              "looked for " + looked_for);
}

DataSource open_data_folder(const fs::path& folder, int num_classes,
                            const Preparation& preparation) {
  const DataLayout layout = find_layout(folder, num_classes);
  const std::optional<Manifest> manifest = read_manifest(folder);
  if (manifest) {
    for (const SplitPlace* place : {&layout.train, &layout.eval}) {
      const std::string file = place->annotations.lexically_relative(folder).generic_string();
      if (!manifest->files.contains(file)) {
        throw Error(shown(folder / "manifest.json"), "does not list " + printable(file));
      }
    }
    verify_files(folder, *manifest, "restore the file, or remove manifest.json to go without",
                 preparation);
  }
  DataSource source = open_layout(layout, manifest ? &*manifest : nullptr, preparation);
  source.artifact.name =
      manifest && !manifest->dataset.empty() ? manifest->dataset : folder.filename().string();
  // Nobody has held these against what is frozen under that name, and rules may ask for it.
  if (source.artifact.name.starts_with("fashion-scenes-")) {
    source.artifact.name = "own " + source.artifact.name;
  }
  source.artifact.source = folder.string();
  if (manifest) {
    source.artifact.sha256 = sha256_of_file(folder / "manifest.json");
  } else {
    source.artifact.sha256 = sha256_hex(source.train.report.sha256 + source.eval.report.sha256);
  }
  return source;
}

DataSource open_fashion_scenes(const SceneSet& set, int num_classes, const Preparation& preparation,
                               const fs::path& cache) {
  const SceneCache scenes = open_scene_cache(set, preparation, cache);
  DataSource source =
      open_layout(find_layout(scenes.folder, num_classes), &scenes.manifest, preparation);
  source.artifact.name = "fashion-scenes-" + set.name;
  source.artifact.source = scenes.folder.string();
  std::string frozen;
  for (const SceneSplit split : kSceneSplits) {
    const std::string pixels = pixels_key(split);
    source.artifact.details[pixels] = scenes.manifest.details.at(pixels);
    frozen += scenes.manifest.details.at(pixels);
    frozen += scenes.manifest.files.at(std::string(to_string(split)) + ".json");
  }
  source.artifact.details["generator_version"] = std::to_string(kSceneGeneratorVersion);
  source.artifact.sha256 = sha256_hex(frozen);
  return source;
}

}  // namespace harness::workloads
