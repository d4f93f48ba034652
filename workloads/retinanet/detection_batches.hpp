// Training batches of detection data: decoded, mirrored, normalised and resized ahead of the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/data/annotations.hpp"
#include "workloads/data/picture_cache.hpp"
#include "workloads/data/prefetcher.hpp"
#include "workloads/data/sampler.hpp"
#include "workloads/retinanet/transform.hpp"

namespace harness::workloads {

struct BatchOptions {
  std::int64_t batch_size = 1;  ///< of one rank
  std::int64_t height = 800;    ///< of the images the network takes
  std::int64_t width = 800;
  std::uint32_t data_order_seed = 0;
  std::uint32_t augmentation_seed = 0;
  int workers = 2;  ///< decoding threads beside the step
  /// Samples that were consumed before: the sequence goes on as if they had been taken from it.
  /// By all ranks.
  std::int64_t start = 0;
  int rank = 0;   ///< takes its part of each batch of all ranks
  int world = 1;  ///< how many ranks there are
};

/// An image of a data set as the reference's data loader gives it: (3, H, W) float32 in [0, 1],
/// boxes and labels; mirrored left to right when `mirror`.
struct DetectionSample {
  at::Tensor image{};
  Target target{};
};
DetectionSample load_sample(const AnnotationSet& set, std::size_t index, bool mirror);

/// An image of a data set as transform() gives it, of (1, 3, height, width), without its targets;
/// mirrored left to right when `mirror`. One that has that size already goes from its bytes to what
/// the network takes in one pass.
Batch load_picture(const AnnotationSet& set, std::size_t index, bool mirror, MapSize size);

/// What a thread that decodes ahead calls first: its operators then run on that thread alone, and
/// give the same bits on each.
void decode_on_one_thread();

/// One batch of several batches of one image or more each, in their order. Throws
/// std::invalid_argument for none, and for pictures of several sizes.
Batch join_batches(std::vector<Batch> parts);

/// The endless sequence of a training run: each epoch shuffled, each image mirrored with
/// probability one half, batches in an order that depends on the seeds alone.
class DetectionBatches {
 public:
  /// `set` outlives this. Throws Error when there are fewer images than a batch needs, and
  /// std::invalid_argument for a negative start.
  DetectionBatches(const AnnotationSet& set, const BatchOptions& options);

  /// Waits for the next batch; throws Error for an image that cannot be decoded.
  Batch next(const std::function<void()>& interrupted);
  /// Returns when enough is decoded ahead for now.
  void rest(const std::function<void()>& interrupted) { prefetcher_.rest(interrupted); }
  std::size_t batches_per_epoch() const { return order_.batches_per_epoch(); }

 private:
  const AnnotationSet& set_;
  BatchOptions options_;
  std::size_t start_;
  TrainingOrder order_;
  PictureCache pictures_;
  Prefetcher<Batch> prefetcher_;  ///< one image each; last, so that its threads end first
};

}  // namespace harness::workloads
