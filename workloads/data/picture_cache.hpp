// Decoded pictures of a small set: each is decoded in the first epoch, and not again in the others.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "workloads/data/annotations.hpp"
#include "workloads/data/image.hpp"

namespace harness::workloads {

/// Larger sets are decoded anew in each epoch: all are kept or none, so that epochs are alike.
inline constexpr std::size_t kMostKeptBytes = std::size_t{256} << 20;

/// Bytes of all pictures of `set`, decoded, where they are kept; else 0.
std::size_t kept_picture_bytes(const AnnotationSet& set, std::size_t most_bytes = kMostKeptBytes);

class PictureCache {
 public:
  /// `set` outlives this.
  explicit PictureCache(const AnnotationSet& set, std::size_t most_bytes = kMostKeptBytes);

  /// As load_image(). From any thread.
  std::shared_ptr<const Image> picture(std::size_t index);

 private:
  const AnnotationSet& set_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Image>> kept_{};  ///< of none where none is kept
};

}  // namespace harness::workloads
