#include "workloads/retinanet/detection_batches.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <omp.h>

#include <iterator>
#include <stdexcept>
#include <utility>

namespace harness::workloads {
namespace {

at::Tensor boxes_tensor(std::span<const Box> boxes, float width, bool mirror) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(boxes.size()), 4}, at::kFloat);
  float* out = tensor.mutable_data_ptr<float>();
  for (const Box& box : boxes) {
    *out++ = mirror ? width - box.x2 : box.x1;
    *out++ = box.y1;
    *out++ = mirror ? width - box.x1 : box.x2;
    *out++ = box.y2;
  }
  return tensor;
}

at::Tensor labels_tensor(std::span<const std::int32_t> labels) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(labels.size())}, at::kLong);
  std::copy(labels.begin(), labels.end(), tensor.mutable_data_ptr<int64_t>());
  return tensor;
}

Batch prepare_image(const AnnotationSet& set, const BatchOptions& options,
                    const TrainingOrder& order, std::size_t position) {
  decode_on_one_thread();
  const at::NoGradGuard no_grad;
  const TrainingOrder::Place place = order.at(position);
  const DetectionSample sample =
      load_sample(set, place.image, flipped(options.augmentation_seed, place.epoch, place.image));
  return transform({sample.image}, {sample.target}, options.height, options.width);
}

std::size_t checked_start(std::int64_t start) {
  if (start < 0) throw std::invalid_argument("a training cannot start before its first sample");
  return static_cast<std::size_t>(start);
}

/// In the sequence of all ranks, the place of a rank's own `position`-th sample.
std::size_t place_among_all(const BatchOptions& options, std::size_t position) {
  const auto batch = static_cast<std::size_t>(options.batch_size);
  const auto world = static_cast<std::size_t>(options.world);
  const auto rank = static_cast<std::size_t>(options.rank);
  return (position / batch * world + rank) * batch + position % batch;
}

PrefetchLimits limits(const BatchOptions& options) {
  PrefetchLimits result;
  result.threads = options.workers;
  result.depth = static_cast<std::size_t>(2 * options.batch_size + options.workers);
  return result;
}

}  // namespace

void decode_on_one_thread() {
  // One image, one thread: the step's threads have the other cores. OpenMP keeps this number per
  // thread, so that of the step is untouched. ATen sets it once itself, with the first operator of
  // a thread; that has to be over, or the first image of each thread would be cut in other pieces
  // than the next, and come out with other last bits.
  at::get_num_threads();
  omp_set_num_threads(1);
}

Batch join_batches(std::vector<Batch> parts) {
  Batch batch;
  std::vector<at::Tensor> images;
  for (Batch& part : parts) {
    images.push_back(std::move(part.images));
    std::move(part.targets.begin(), part.targets.end(), std::back_inserter(batch.targets));
    std::move(part.original_sizes.begin(), part.original_sizes.end(),
              std::back_inserter(batch.original_sizes));
  }
  batch.images = images.size() == 1 ? images.front()
                                    : at::cat(images).contiguous(at::MemoryFormat::ChannelsLast);
  return batch;
}

DetectionSample load_sample(const AnnotationSet& set, std::size_t index, bool mirror) {
  Image image = load_image(set, index);
  at::Tensor pixels = at::from_blob(image.pixels.data(), {image.height, image.width, 3}, at::kByte)
                          .permute({2, 0, 1})
                          .to(at::kFloat)
                          .contiguous()
                          .div_(255);
  if (mirror) pixels = pixels.flip({2});
  const ImageRecord& record = set.images.at(index);
  return {pixels,
          {boxes_tensor(set.boxes_of(record), static_cast<float>(image.width), mirror),
           labels_tensor(set.labels_of(record))}};
}

DetectionBatches::DetectionBatches(const AnnotationSet& set, const BatchOptions& options)
    : set_(set),
      options_(options),
      start_(checked_start(options.start)),
      order_(set.images.size(), static_cast<std::size_t>(options.batch_size * options.world),
             options.data_order_seed),
      prefetcher_(
          Prefetcher<Batch>::kEndless,
          [this](std::size_t position) {
            return prepare_image(set_, options_, order_,
                                 start_ + place_among_all(options_, position));
          },
          limits(options), [](const Batch& one) { return one.images.nbytes(); }) {}

Batch DetectionBatches::next(const std::function<void()>& interrupted) {
  std::vector<Batch> parts;
  for (std::int64_t i = 0; i < options_.batch_size; ++i) {
    // The sequence is endless, so there always is a next one.
    parts.push_back(prefetcher_.next(interrupted).value());
  }
  return join_batches(std::move(parts));
}

}  // namespace harness::workloads
