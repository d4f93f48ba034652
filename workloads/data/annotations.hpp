// Boxes on images, read from any COCO-format JSON file: COCO, OpenImages in MLPerf's form, our
// scenes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "workloads/data/image.hpp"
#include "workloads/data/parallel.hpp"

namespace harness::workloads {

/// More boxes on one image are refused, dropped ones counted too: the matcher's memory grows with
/// boxes x 120,087 anchors.
constexpr std::size_t kMaxBoxesPerImage = 10'000;

/// Corners in pixels of the original image, x1 < x2 and y1 < y2, inside the image.
struct Box {
  float x1 = 0;
  float y1 = 0;
  float x2 = 0;
  float y2 = 0;
};

/// An annotation as COCO's evaluation takes it, in the file's own numbers: neither cut at the
/// image's border nor dropped as a group.
struct GroundTruthBox {
  std::size_t image = 0;  ///< index into AnnotationSet::images
  std::int32_t label = 0;
  bool crowd = false;
  double x = 0;  ///< upper left corner and extent in pixels of the original image
  double y = 0;
  double width = 0;
  double height = 0;
  double area = 0;  ///< the file's; width * height where it gives none
};

struct ImageRecord {
  std::int64_t id = 0;
  std::string file_name{};  ///< relative to the image folder
  int width = 0;            ///< as the annotations say; load_image checks it
  int height = 0;
  std::size_t first_box = 0;  ///< into AnnotationSet's arrays
  std::size_t box_count = 0;
};

struct Category {
  std::int64_t id = 0;  ///< in the file
  std::string name{};
};

/// What differs between data sets; see MLPerf's reference `ssd/coco_utils.py` and `openimages.py`.
struct AnnotationPolicy {
  int num_classes = 264;          ///< labels must be below
  bool keep_crowd = true;         ///< boxes of groups: OpenImages keeps, COCO drops
  bool keep_empty_images = true;  ///< images without boxes: OpenImages keeps, COCO drops
  /// The split is evaluated: every image stays, and AnnotationSet::ground_truth is filled.
  bool for_evaluation = false;
};

/// What was read, kept and dropped.
struct AnnotationReport {
  std::size_t images_read = 0;
  std::size_t images_kept = 0;
  std::size_t images_without_boxes = 0;  ///< of those read, after dropping boxes
  std::size_t boxes_read = 0;
  std::size_t boxes_kept = 0;
  std::size_t boxes_clamped = 0;       ///< kept, after cutting what lay outside the image
  std::size_t dropped_not_finite = 0;  ///< NaN, infinite, or null in the bbox
  std::size_t dropped_degenerate = 0;  ///< no width or height, negative ones, or wholly outside
  std::size_t dropped_crowd = 0;
  bool categories_renumbered = false;  ///< ids were not 0..K-1: label = rank of the sorted id
  std::string sha256{};                ///< of the file
};

/// Images in the order of the file, their boxes in the order of the file. An image's boxes, labels
/// and crowd flags lie at [first_box, first_box + box_count).
struct AnnotationSet {
  std::filesystem::path image_folder{};
  std::vector<ImageRecord> images{};
  std::vector<Box> boxes{};
  std::vector<std::int32_t> labels{};
  std::vector<std::uint8_t> crowd{};
  std::vector<Category> categories{};  ///< by label
  /// In the order of the file, all but boxes that are not finite or have a negative extent; empty
  /// unless the policy says for_evaluation.
  std::vector<GroundTruthBox> ground_truth{};
  AnnotationReport report{};

  std::span<const Box> boxes_of(const ImageRecord& image) const {
    return {boxes.data() + image.first_box, image.box_count};
  }
  std::span<const std::int32_t> labels_of(const ImageRecord& image) const {
    return {labels.data() + image.first_box, image.box_count};
  }
};

/// Reads a COCO-format file in one pass, with memory for the records only. Throws Error naming the
/// file for malformed JSON, ids that are missing, doubled or unknown, categories beyond
/// num_classes, file names that leave the image folder, or more than kMaxBoxesPerImage boxes on an
/// image.
AnnotationSet read_annotations(const std::filesystem::path& file,
                               const std::filesystem::path& image_folder,
                               const AnnotationPolicy& policy, const Preparation& preparation);

/// Decodes an image; throws Error when the file is missing, damaged, or not of the annotated size.
Image load_image(const AnnotationSet& set, std::size_t index);

}  // namespace harness::workloads
