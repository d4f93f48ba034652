#include "workloads/retinanet/detection_batches.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <omp.h>

#include <algorithm>
#include <cstddef>
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

Target target_of(const AnnotationSet& set, std::size_t index, int64_t width, bool mirror) {
  const ImageRecord& record = set.images.at(index);
  return {boxes_tensor(set.boxes_of(record), static_cast<float>(width), mirror),
          labels_tensor(set.labels_of(record))};
}

/// (3, H, W) float32 in [0, 1].
at::Tensor unit_range(const Image& image, bool mirror) {
  // Only read, and copied by the conversion.
  auto* const bytes = const_cast<std::uint8_t*>(image.pixels.data());
  at::Tensor pixels = at::from_blob(bytes, {image.height, image.width, 3}, at::kByte)
                          .permute({2, 0, 1})
                          .to(at::kFloat)
                          .contiguous()
                          .div_(255);
  return mirror ? pixels.flip({2}) : pixels;
}

/// What transform() makes of each byte in each channel: 256 x 3.
const std::vector<float>& transformed_bytes() {
  static const std::vector<float> table = [] {
    const at::NoGradGuard no_grad;
    Image all{256, 1, {}};
    for (int byte = 0; byte < 256; ++byte) all.pixels.insert(all.pixels.end(), 3, byte);
    const at::Tensor pixels =
        transform({unit_range(all, false)}, {}, 1, 256).images.permute({0, 2, 3, 1}).contiguous();
    const float* const values = pixels.const_data_ptr<float>();
    return std::vector<float>(values, values + pixels.numel());
  }();
  return table;
}

at::Tensor transformed(const Image& image, bool mirror) {
  const std::vector<float>& table = transformed_bytes();
  at::Tensor tensor =
      at::empty({1, 3, image.height, image.width},
                at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  float* out = tensor.mutable_data_ptr<float>();
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* const row = image.pixels.data() + 3 * row_start(y, image.width);
    for (int x = 0; x < image.width; ++x) {
      const std::uint8_t* const pixel =
          row + std::ptrdiff_t{3} * (mirror ? image.width - 1 - x : x);
      for (std::size_t channel = 0; channel < 3; ++channel) {
        *out++ = table[3 * std::size_t{pixel[channel]} + channel];
      }
    }
  }
  return tensor;
}

/// As at::cat(), in channels_last. A few megabytes on this thread alone: the others may decode, and
/// a barrier would wait for them.
at::Tensor joined(const std::vector<at::Tensor>& images) {
  constexpr int64_t kFewBytes = int64_t{16} << 20;
  std::vector<int64_t> sizes = images.front().sizes().vec();
  sizes[0] = 0;
  int64_t bytes = 0;
  for (const at::Tensor& one : images) {
    if (one.sizes().slice(1) != images.front().sizes().slice(1) ||
        one.scalar_type() != at::kFloat) {
      throw std::invalid_argument("pictures of several sizes do not make a batch");
    }
    sizes[0] += one.size(0);
    bytes += static_cast<int64_t>(one.nbytes());
  }
  if (bytes > kFewBytes) return at::cat(images).contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor all =
      at::empty(sizes, at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  float* out = all.mutable_data_ptr<float>();
  for (const at::Tensor& one : images) {
    const at::Tensor dense = one.contiguous(at::MemoryFormat::ChannelsLast);
    out = std::copy_n(dense.const_data_ptr<float>(), dense.numel(), out);
  }
  return all;
}

Batch batch_of(const Image& image, bool mirror, MapSize size) {
  if (image.height == size.height && image.width == size.width) {
    return {transformed(image, mirror), {}, {size}};
  }
  return transform({unit_range(image, mirror)}, {}, size.height, size.width);
}

Batch prepare_image(const AnnotationSet& set, PictureCache& pictures, const BatchOptions& options,
                    const TrainingOrder& order, std::size_t position) {
  decode_on_one_thread();
  const at::NoGradGuard no_grad;
  const TrainingOrder::Place place = order.at(position);
  const bool mirror = flipped(options.augmentation_seed, place.epoch, place.image);
  const MapSize size{options.height, options.width};
  Batch batch = batch_of(*pictures.picture(place.image), mirror, size);
  const MapSize original = batch.original_sizes.front();
  batch.targets.push_back(resize_target(target_of(set, place.image, original.width, mirror),
                                        original, size, place.image));
  return batch;
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
  if (parts.empty()) throw std::invalid_argument("no pictures do not make a batch");
  Batch batch;
  std::vector<at::Tensor> images;
  for (Batch& part : parts) {
    images.push_back(std::move(part.images));
    std::move(part.targets.begin(), part.targets.end(), std::back_inserter(batch.targets));
    std::move(part.original_sizes.begin(), part.original_sizes.end(),
              std::back_inserter(batch.original_sizes));
  }
  batch.images = images.size() == 1 ? images.front() : joined(images);
  return batch;
}

DetectionSample load_sample(const AnnotationSet& set, std::size_t index, bool mirror) {
  const Image image = load_image(set, index);
  return {unit_range(image, mirror), target_of(set, index, image.width, mirror)};
}

Batch load_picture(const AnnotationSet& set, std::size_t index, bool mirror, MapSize size) {
  return batch_of(load_image(set, index), mirror, size);
}

DetectionBatches::DetectionBatches(const AnnotationSet& set, const BatchOptions& options)
    : set_(set),
      options_(options),
      start_(checked_start(options.start)),
      order_(set.images.size(), static_cast<std::size_t>(options.batch_size * options.world),
             options.data_order_seed),
      pictures_(set),
      prefetcher_(
          Prefetcher<Batch>::kEndless,
          [this](std::size_t position) {
            return prepare_image(set_, pictures_, options_, order_,
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
