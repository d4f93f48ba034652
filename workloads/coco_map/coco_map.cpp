#include "workloads/coco_map/coco_map.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "workloads/coco_map/matching.hpp"
#include "workloads/coco_map/summary.hpp"

namespace harness::workloads {
namespace {

[[noreturn]] void refuse(const char* what, std::size_t index, const char* why) {
  throw Error(std::string(what) + " " + std::to_string(index), why);
}

void check_box(const CocoBox& box, const char* what, std::size_t index) {
  if (!(std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
        std::isfinite(box.height))) {
    refuse(what, index, "its box is not finite");
  }
  if (box.width < 0 || box.height < 0) refuse(what, index, "its box has a negative extent");
}

void check(const CocoGroundTruth& target, std::size_t index) {
  check_box(target.box, "ground truth", index);
  if (!std::isfinite(target.area)) refuse("ground truth", index, "its area is not finite");
  if (target.area < 0) refuse("ground truth", index, "its area is negative");
}

void check(const CocoDetection& detection, std::size_t index) {
  check_box(detection.box, "detection", index);
  if (!std::isfinite(detection.score)) refuse("detection", index, "its score is not finite");
}

// Ground truth is not ranked within an image.
double rank_score(const CocoGroundTruth& /*target*/) { return 0; }
double rank_score(const CocoDetection& detection) { return detection.score; }

struct Key {
  std::int64_t category = 0;
  std::int64_t image = 0;
  auto operator<=>(const Key&) const = default;
};

// What a list is sorted by, apart from the elements, which stay where they are.
template <typename Element>
struct Entry {
  Key key{};
  double score = 0;
  const Element* element = nullptr;

  bool operator<(const Entry& other) const {
    if (key != other.key) return key < other.key;
    if (score != other.score) return score > other.score;
    return std::less<>()(element, other.element);  // the order in which they were given
  }
};

// Elements by category, image, and falling score, to be taken off group by group.
template <typename Element>
class Groups {
 public:
  explicit Groups(std::span<const Element> elements) {
    entries_.reserve(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      check(elements[i], i);
      const Key key{.category = elements[i].category_id, .image = elements[i].image_id};
      entries_.push_back({key, rank_score(elements[i]), &elements[i]});
    }
    std::sort(entries_.begin(), entries_.end());
  }

  std::optional<Key> front() const {
    if (next_ == entries_.size()) return std::nullopt;
    return entries_[next_].key;
  }

  // Those of `key`, which no key in front() has come after; valid until the next call.
  std::span<const Element* const> take(const Key& key) {
    group_.clear();
    for (; next_ < entries_.size() && entries_[next_].key == key; ++next_) {
      group_.push_back(entries_[next_].element);
    }
    return group_;
  }

 private:
  std::vector<Entry<Element>> entries_{};
  std::size_t next_ = 0;
  std::vector<const Element*> group_{};
};

std::optional<Key> earlier(const std::optional<Key>& a, const std::optional<Key>& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

CocoMetrics evaluate_coco_boxes(std::span<const CocoGroundTruth> ground_truth,
                                std::span<const CocoDetection> detections) {
  Groups<CocoGroundTruth> all_targets(ground_truth);
  Groups<CocoDetection> all_detections(detections);
  const auto next_key = [&] { return earlier(all_targets.front(), all_detections.front()); };

  coco::ImageMatcher matcher;
  coco::Summary summary;
  std::vector<coco::Outcome> outcomes;
  for (std::optional<Key> key = next_key(); key;) {
    const std::int64_t category = key->category;
    outcomes.clear();
    std::array<std::size_t, coco::kSizes> positives{};
    for (; key && key->category == category; key = next_key()) {
      const auto targets = all_targets.take(*key);
      const auto found = all_detections.take(*key);
      for (std::size_t size = 0; size < coco::kSizes; ++size) {
        positives[size] += static_cast<std::size_t>(std::count_if(
            targets.begin(), targets.end(),
            [size](const CocoGroundTruth* target) { return coco::counts(*target, size); }));
      }
      matcher.match(targets, found.first(std::min(found.size(), coco::kMaxDetections)), outcomes);
    }
    summary.add_category(outcomes, positives);
  }
  return summary.metrics();
}

std::array<CocoMetric, 12> list_metrics(const CocoMetrics& metrics) {
  return {{{"ap", metrics.ap},
           {"ap_50", metrics.ap_50},
           {"ap_75", metrics.ap_75},
           {"ap_small", metrics.ap_small},
           {"ap_medium", metrics.ap_medium},
           {"ap_large", metrics.ap_large},
           {"ar_1", metrics.ar_1},
           {"ar_10", metrics.ar_10},
           {"ar_100", metrics.ar_100},
           {"ar_small", metrics.ar_small},
           {"ar_medium", metrics.ar_medium},
           {"ar_large", metrics.ar_large}}};
}

}  // namespace harness::workloads
