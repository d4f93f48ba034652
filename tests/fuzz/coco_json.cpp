// Annotations in COCO's format, under the policies of both data sets and for evaluation.
#include "harness/base/error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "workloads/data/annotations.hpp"

namespace harness {
namespace {

using workloads::AnnotationPolicy;
using workloads::AnnotationSet;

void check_set(const AnnotationSet& set, const AnnotationPolicy& policy) {
  promise(set.boxes.size() == set.labels.size() && set.boxes.size() == set.crowd.size(),
          "a box without a label");
  std::size_t next = 0;
  for (const workloads::ImageRecord& image : set.images) {
    promise(image.first_box == next, "boxes that belong to no image");
    next += image.box_count;
    promise(next <= set.boxes.size(), "boxes beyond the end");
    for (const workloads::Box& box : set.boxes_of(image)) {
      promise(0 <= box.x1 && box.x1 < box.x2 && box.x2 <= static_cast<float>(image.width) &&
                  0 <= box.y1 && box.y1 < box.y2 && box.y2 <= static_cast<float>(image.height),
              "a box outside of its image");
    }
  }
  for (const std::int32_t label : set.labels) {
    promise(0 <= label && label < policy.num_classes, "a label beyond the classes");
  }
  for (const workloads::GroundTruthBox& box : set.ground_truth) {
    promise(box.image < set.images.size(), "a box of an image that is not there");
  }
}

}  // namespace

void fuzz_coco_json(std::string_view bytes) {
  const MemoryFile file(bytes);
  const AnnotationPolicy policies[] = {{}, {91, false, false, false}, {91, false, false, true}};
  for (const AnnotationPolicy& policy : policies) {
    try {
      check_set(workloads::read_annotations(file.path(), "/pictures", policy, {}), policy);
    } catch (const Error& error) {
      promise_printable(error.what());
    }
  }
}

}  // namespace harness
