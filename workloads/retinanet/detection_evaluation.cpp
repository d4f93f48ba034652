#include "workloads/retinanet/detection_evaluation.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/prefetcher.hpp"
#include "workloads/retinanet/detection_batches.hpp"

namespace harness::workloads {
namespace {

/// The split's name for messages: its folder of images.
std::string shown(const AnnotationSet& set) { return printable(set.image_folder.string()); }

struct FoundOnImage {
  std::size_t image = 0;  ///< in the set
  std::vector<CocoDetection> detections{};
};

/// Whole batches in turn, so that each has the images that it has without other ranks.
std::vector<std::size_t> own_images(std::size_t count, std::size_t batch, int rank, int world) {
  std::vector<std::size_t> images;
  for (std::size_t i = 0; i < count; ++i) {
    if (i / batch % static_cast<std::size_t>(world) == static_cast<std::size_t>(rank)) {
      images.push_back(i);
    }
  }
  return images;
}

constexpr std::size_t kNumbers = 8;

/// Those of all ranks in the order of the images.
std::vector<CocoDetection> all_detections(std::vector<FoundOnImage> found, Ranks* ranks) {
  if (ranks != nullptr) {
    std::vector<double> numbers;
    for (const auto& [image, detections] : found) {
      for (const CocoDetection& one : detections) {
        numbers.insert(numbers.end(),
                       {static_cast<double>(image), static_cast<double>(one.image_id),
                        static_cast<double>(one.category_id), one.box.x, one.box.y, one.box.width,
                        one.box.height, one.score});
      }
    }
    found.clear();
    for (const std::vector<double>& theirs : gather_numbers(*ranks, numbers)) {
      for (std::size_t i = 0; i + kNumbers <= theirs.size(); i += kNumbers) {
        const double* one = &theirs[i];
        const auto image = static_cast<std::size_t>(one[0]);
        if (found.empty() || found.back().image != image) found.push_back({image});
        found.back().detections.push_back({.image_id = static_cast<std::int64_t>(one[1]),
                                           .category_id = static_cast<std::int64_t>(one[2]),
                                           .box = {one[3], one[4], one[5], one[6]},
                                           .score = one[7]});
      }
    }
    std::sort(found.begin(), found.end(),
              [](const FoundOnImage& a, const FoundOnImage& b) { return a.image < b.image; });
  }
  std::vector<CocoDetection> all;
  for (const auto& [image, detections] : found) {
    all.insert(all.end(), detections.begin(), detections.end());
  }
  return all;
}

Batch prepare_image(const AnnotationSet& set, std::size_t index, const RetinaNetConfig& config) {
  decode_on_one_thread();
  const at::NoGradGuard no_grad;
  return load_picture(set, index, false, {config.height, config.width});
}

}  // namespace

std::vector<CocoGroundTruth> coco_ground_truth(const AnnotationSet& set) {
  std::vector<CocoGroundTruth> ground_truth;
  ground_truth.reserve(set.ground_truth.size());
  for (const GroundTruthBox& box : set.ground_truth) {
    ground_truth.push_back({.image_id = set.images.at(box.image).id,
                            .category_id = box.label,
                            .box = {box.x, box.y, box.width, box.height},
                            .area = box.area,
                            .crowd = box.crowd});
  }
  if (std::all_of(ground_truth.begin(), ground_truth.end(),
                  [](const CocoGroundTruth& target) { return target.crowd; })) {
    throw Error(shown(set), "the evaluation split has no box that counts",
                "evaluation needs annotated boxes that are no crowds");
  }
  return ground_truth;
}

std::vector<CocoDetection> coco_detections(const Detections& found, std::int64_t image_id) {
  const at::Tensor boxes = found.boxes.to(at::kDouble).contiguous();
  const at::Tensor scores = found.scores.to(at::kDouble).contiguous();
  const at::Tensor labels = found.labels.contiguous();
  const double* box = boxes.const_data_ptr<double>();
  std::vector<CocoDetection> detections;
  detections.reserve(static_cast<std::size_t>(labels.size(0)));
  for (std::int64_t i = 0; i < labels.size(0); ++i, box += 4) {
    detections.push_back({.image_id = image_id,
                          .category_id = labels.const_data_ptr<std::int64_t>()[i],
                          .box = {box[0], box[1], box[2] - box[0], box[3] - box[1]},
                          .score = scores.const_data_ptr<double>()[i]});
  }
  return detections;
}

Quality detection_quality(const CocoMetrics& metrics) {
  Quality quality{.metric = kDetectionMetric, .direction = Direction::kHigher, .value = metrics.ap};
  for (const CocoMetric& metric : list_metrics(metrics)) {
    // -1: no box of that size is there to be found.
    if (metric.name != "ap" && metric.value >= 0) {
      quality.details.emplace(metric.name, metric.value);
    }
  }
  return quality;
}

CocoMetrics evaluate_detections(const RetinaNet& model, const AnnotationSet& set,
                                const EvaluationOptions& options, const WorkloadContext& context) {
  if (options.batch_size < 1) throw std::invalid_argument("evaluation in batches of no image");
  if (set.images.empty()) throw Error(shown(set), "the evaluation split has no images");
  const std::vector<CocoGroundTruth> ground_truth = coco_ground_truth(set);

  const auto batch_size = static_cast<std::size_t>(options.batch_size);
  const std::vector<std::size_t> mine =
      own_images(set.images.size(), batch_size, context.rank(), context.world());
  const std::size_t count = mine.size();
  PrefetchLimits limits;
  limits.threads = options.workers;
  limits.depth = 2 * batch_size + static_cast<std::size_t>(std::max(options.workers, 0));
  Prefetcher<Batch> images(
      count, [&](std::size_t i) { return prepare_image(set, mine[i], model.config()); }, limits,
      [](const Batch& one) { return one.images.nbytes(); });

  // As many turns for all ranks, since they decide in each whether to stop.
  const std::size_t turns = own_images(set.images.size(), batch_size, 0, context.world()).size();
  const std::function<void()> alone = context.world() == 1 ? context.interrupted : [] {};
  std::vector<FoundOnImage> found_on;
  std::size_t done = 0;
  for (std::size_t turn = 0; turn < turns; turn += batch_size) {
    context.interrupted();
    context.progress("evaluating", static_cast<std::int64_t>(done),
                     static_cast<std::int64_t>(count));
    std::vector<Batch> parts;
    while (parts.size() < std::min(batch_size, count - done)) {
      parts.push_back(images.next(alone).value());
    }
    if (parts.empty()) continue;
    for (const Detections& found : model.detect_batch(join_batches(std::move(parts)))) {
      const std::size_t image = mine[done++];
      found_on.push_back({image, coco_detections(found, set.images[image].id)});
    }
  }
  context.progress("evaluating", static_cast<std::int64_t>(count),
                   static_cast<std::int64_t>(count));
  return evaluate_coco_boxes(ground_truth, all_detections(std::move(found_on), context.ranks));
}

}  // namespace harness::workloads
