// Which image comes when: orders and flips from counter-based random numbers, the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace harness::workloads {

/// All of [0, count), shuffled (Fisher-Yates) for one epoch (from 0) of a data-order seed.
std::vector<std::uint32_t> epoch_order(std::size_t count, std::uint32_t seed, std::int64_t epoch);

/// Whether an image is mirrored in an epoch; true for half of all.
bool flipped(std::uint32_t augmentation_seed, std::int64_t epoch, std::size_t image);

/// A training run's endless sequence of samples. An epoch is as many whole batches as fit
/// (drop_last); the images left out differ from epoch to epoch. Safe to call from many threads.
class TrainingOrder {
 public:
  struct Place {
    std::int64_t epoch = 0;  ///< from 0
    std::size_t image = 0;
  };

  /// Throws Error when there are fewer images than a batch needs.
  TrainingOrder(std::size_t images, std::size_t batch_size, std::uint32_t seed);

  /// The sample at `position`, counted from the start of the run.
  Place at(std::size_t position) const;
  std::size_t samples_per_epoch() const { return samples_; }
  std::size_t batches_per_epoch() const { return samples_ / batch_size_; }

 private:
  std::size_t images_;
  std::size_t batch_size_;
  std::uint32_t seed_;
  std::size_t samples_;
  mutable std::mutex mutex_;
  /// The latest epochs used; threads that decode ahead work on two at a time.
  mutable std::map<std::int64_t, std::shared_ptr<const std::vector<std::uint32_t>>> orders_;
};

}  // namespace harness::workloads
