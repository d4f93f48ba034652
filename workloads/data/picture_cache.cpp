#include "workloads/data/picture_cache.hpp"

#include <utility>

namespace harness::workloads {

std::size_t kept_picture_bytes(const AnnotationSet& set, std::size_t most_bytes) {
  std::size_t bytes = 0;
  for (const ImageRecord& record : set.images) {
    bytes += 3 * row_start(record.height, record.width);
    if (bytes > most_bytes) return 0;
  }
  return bytes;
}

PictureCache::PictureCache(const AnnotationSet& set, std::size_t most_bytes) : set_(set) {
  if (kept_picture_bytes(set, most_bytes) > 0) kept_.resize(set.images.size());
}

std::shared_ptr<const Image> PictureCache::picture(std::size_t index) {
  if (index >= kept_.size()) return std::make_shared<const Image>(load_image(set_, index));
  {
    const std::lock_guard lock(mutex_);
    if (kept_[index]) return kept_[index];
  }
  auto decoded = std::make_shared<const Image>(load_image(set_, index));
  const std::lock_guard lock(mutex_);
  kept_[index] = decoded;
  return decoded;
}

}  // namespace harness::workloads
