#include "workloads/data/sampler.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "harness/base/error.hpp"
#include "workloads/data/random.hpp"

namespace harness::workloads {
namespace {

// Tells the streams of equal seeds apart.
enum class Use { kOrder = 1, kFlip = 2 };

}  // namespace

std::vector<std::uint32_t> epoch_order(std::size_t count, std::uint32_t seed, std::int64_t epoch) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  CounterRandom random(stream_key(static_cast<int>(Use::kOrder), seed, epoch));
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  }
  return order;
}

bool flipped(std::uint32_t augmentation_seed, std::int64_t epoch, std::size_t image) {
  const std::uint64_t key =
      stream_key(static_cast<int>(Use::kFlip), augmentation_seed, epoch, image);
  return (key >> 63) != 0;
}

TrainingOrder::TrainingOrder(std::size_t images, std::size_t batch_size, std::uint32_t seed)
    : images_(images), batch_size_(batch_size), seed_(seed), samples_(0) {
  if (batch_size == 0 || images < batch_size) {
    throw Error("training data",
                fmt::format("{} images do not make one batch of {}", images, batch_size),
                "use a smaller --batch-size or more data");
  }
  samples_ = images / batch_size * batch_size;
}

TrainingOrder::Place TrainingOrder::at(std::size_t position) const {
  const auto epoch = static_cast<std::int64_t>(position / samples_);
  std::shared_ptr<const std::vector<std::uint32_t>> order;
  {
    const std::lock_guard lock(mutex_);
    auto& entry = orders_[epoch];
    if (!entry) {
      entry =
          std::make_shared<const std::vector<std::uint32_t>>(epoch_order(images_, seed_, epoch));
    }
    order = entry;
    while (orders_.size() > 2) {
      orders_.erase(orders_.begin()->first == epoch ? std::prev(orders_.end()) : orders_.begin());
    }
  }
  return {epoch, (*order)[position % samples_]};
}

}  // namespace harness::workloads
