// The streaming half of reading COCO-format JSON: tells of images, annotations and categories one
// by one and forgets them, so that a file of many GB needs no more memory than its records.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "workloads/data/parallel.hpp"

namespace harness::workloads {

/// What the parser needs of an entry of "images", "annotations" or "categories"; a missing member
/// is empty, one of an unexpected type too.
struct CocoEntry {
  std::optional<std::int64_t> id{};
  std::optional<std::int64_t> image_id{};
  std::optional<std::int64_t> category_id{};
  std::optional<std::int64_t> width{};
  std::optional<std::int64_t> height{};
  std::optional<std::int64_t> iscrowd{};  ///< a Boolean counts as 0 or 1
  std::string text{};                     ///< file_name of an image, name of a category
  std::array<double, 4> bbox{};           ///< x, y, width, height; NaN for null
  /// Of the object, not its box; NaN when missing or null.
  double area = std::numeric_limits<double>::quiet_NaN();
  int bbox_size = 0;  ///< numbers in "bbox"; -1 when it holds something else
};

class CocoListener {
 public:
  virtual ~CocoListener() = default;
  virtual void image(const CocoEntry& entry) = 0;
  virtual void annotation(const CocoEntry& entry) = 0;
  virtual void category(const CocoEntry& entry) = 0;
};

/// Returns the file's SHA-256. Throws Error naming the file for malformed JSON (with the byte), a
/// missing section, nesting over 32 levels, a text over 1 MiB; and whatever the listener throws.
std::string parse_coco(const std::filesystem::path& file, CocoListener& listener,
                       const Preparation& preparation);

}  // namespace harness::workloads
