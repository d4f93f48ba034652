#include "workloads/data/annotations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/coco_parser.hpp"
#include "workloads/data/manifest.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

/// An annotation as it stands in the file: the sections may come in any order, so ids are resolved
/// at the end.
struct RawBox {
  std::int64_t image_id = 0;
  std::int64_t category_id = 0;
  float x = 0, y = 0, width = 0, height = 0;
  bool crowd = false;
};

Error too_many_boxes(const std::string& name, std::int64_t image) {
  return {name, fmt::format("image {} has more than {} boxes", image, kMaxBoxesPerImage),
          "matching them would not fit in memory; leave the image out"};
}

std::int64_t required(const std::optional<std::int64_t>& value, const std::string& name,
                      const std::string& what) {
  if (!value) throw Error(name, what + " is missing or not a whole number");
  return *value;
}

/// Takes what the parser tells, checks what needs no other entry.
class Collector : public CocoListener {
 public:
  Collector(std::string name, bool for_evaluation)
      : name_(std::move(name)), for_evaluation_(for_evaluation) {}

  void image(const CocoEntry& entry) override {
    const std::string which = fmt::format("images[{}]", images.size());
    ImageRecord record;
    record.id = required(entry.id, name_, which + ".id");
    const std::int64_t width = required(entry.width, name_, which + ".width");
    const std::int64_t height = required(entry.height, name_, which + ".height");
    constexpr std::int64_t kLongest = 1 << 20;
    if (width < 1 || height < 1 || width > kLongest || height > kLongest) {
      throw Error(name_, fmt::format("{} has size {}x{}", which, width, height));
    }
    record.width = static_cast<int>(width);
    record.height = static_cast<int>(height);
    check_relative_path(entry.text, name_);
    record.file_name = entry.text;
    if (!index.emplace(record.id, images.size()).second) {
      throw Error(name_, fmt::format("image id {} stands twice", record.id));
    }
    images.push_back(std::move(record));
  }

  void annotation(const CocoEntry& entry) override {
    const auto which = [&] { return fmt::format("annotations[{}]", boxes.size()); };
    RawBox box;
    if (!entry.image_id || !entry.category_id || entry.bbox_size != 4) {
      required(entry.image_id, name_, which() + ".image_id");
      required(entry.category_id, name_, which() + ".category_id");
      throw Error(name_, which() + ".bbox is missing or not four numbers");
    }
    if (boxes.size() >= kMaxBoxes) {
      throw Error(name_, fmt::format("has over {} million boxes", kMaxBoxes / 1'000'000));
    }
    box.image_id = *entry.image_id;
    // Most files name the images first; then a flood on one of them ends here, not in memory.
    if (const auto image = index.find(box.image_id);
        image != index.end() && ++images[image->second].box_count > kMaxBoxesPerImage) {
      throw too_many_boxes(name_, box.image_id);
    }
    box.category_id = *entry.category_id;
    // In float, as the reference's tensors are.
    box.x = static_cast<float>(entry.bbox[0]);
    box.y = static_cast<float>(entry.bbox[1]);
    box.width = static_cast<float>(entry.bbox[2]);
    box.height = static_cast<float>(entry.bbox[3]);
    box.crowd = entry.iscrowd.value_or(0) != 0;
    boxes.push_back(box);
    if (for_evaluation_) {
      const auto [x, y, width, height] = entry.bbox;
      const bool area = std::isfinite(entry.area) && entry.area >= 0;
      ground_truth.push_back(
          {0, 0, box.crowd, x, y, width, height, area ? entry.area : width * height});
    }
  }

  void category(const CocoEntry& entry) override {
    constexpr std::size_t kMaxCategories = 1'000'000;
    if (categories.size() >= kMaxCategories) throw Error(name_, "has over a million categories");
    categories.push_back(
        {required(entry.id, name_, fmt::format("categories[{}].id", categories.size())),
         entry.text.substr(0, 256)});
  }

  std::vector<ImageRecord> images;
  std::unordered_map<std::int64_t, std::size_t> index;
  std::vector<RawBox> boxes;
  std::vector<GroundTruthBox> ground_truth;  ///< of each of `boxes`, or empty
  std::vector<Category> categories;

 private:
  static constexpr std::size_t kMaxBoxes = 200'000'000;
  std::string name_;
  bool for_evaluation_;
};

/// Labels by category id: the id itself where ids are 0..K-1, else its rank (COCO's 90 sparse ids).
std::unordered_map<std::int64_t, std::int32_t> number_categories(std::vector<Category>& categories,
                                                                 const AnnotationPolicy& policy,
                                                                 const std::string& name,
                                                                 AnnotationReport& report) {
  std::sort(categories.begin(), categories.end(),
            [](const Category& a, const Category& b) { return a.id < b.id; });
  std::unordered_map<std::int64_t, std::int32_t> labels;
  for (const Category& category : categories) {
    const auto label = static_cast<std::int32_t>(labels.size());
    if (!labels.emplace(category.id, label).second) {
      throw Error(name, fmt::format("category id {} stands twice", category.id));
    }
    report.categories_renumbered |= category.id != label;
  }
  if (categories.size() > static_cast<std::size_t>(policy.num_classes)) {
    throw Error(name, fmt::format("has {} categories, the model has {} classes", categories.size(),
                                  policy.num_classes));
  }
  return labels;
}

enum class BoxFate { kKept, kClamped, kNotFinite, kDegenerate };

/// The reference's order: to corners, clamp to the image, drop what has no area.
BoxFate to_corners(const RawBox& raw, const ImageRecord& image, Box& box) {
  const float right = raw.x + raw.width;
  const float bottom = raw.y + raw.height;
  if (!std::isfinite(raw.x) || !std::isfinite(raw.y) || !std::isfinite(right) ||
      !std::isfinite(bottom)) {
    return BoxFate::kNotFinite;
  }
  const auto width = static_cast<float>(image.width);
  const auto height = static_cast<float>(image.height);
  box = {std::clamp(raw.x, 0.0F, width), std::clamp(raw.y, 0.0F, height),
         std::clamp(right, 0.0F, width), std::clamp(bottom, 0.0F, height)};
  if (!(box.x2 > box.x1 && box.y2 > box.y1)) return BoxFate::kDegenerate;
  const bool same = box.x1 == raw.x && box.y1 == raw.y && box.x2 == right && box.y2 == bottom;
  return same ? BoxFate::kKept : BoxFate::kClamped;
}

/// Sorts the boxes to their images, keeping the file's order within each.
void attach_boxes(Collector& raw, const AnnotationPolicy& policy, const std::string& name,
                  AnnotationSet& set) {
  AnnotationReport& report = set.report;
  const auto labels = number_categories(raw.categories, policy, name, report);

  for (ImageRecord& image : raw.images) image.box_count = 0;
  std::vector<std::uint32_t> listed(raw.images.size());
  constexpr std::size_t kDropped = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> owner(raw.boxes.size(), kDropped);
  for (std::size_t i = 0; i < raw.boxes.size(); ++i) {
    const RawBox& box = raw.boxes[i];
    const auto image = raw.index.find(box.image_id);
    if (image == raw.index.end()) {
      throw Error(name,
                  fmt::format("annotations[{}].image_id {} is no image's id", i, box.image_id));
    }
    if (!labels.contains(box.category_id)) {
      throw Error(name, fmt::format("annotations[{}].category_id {} is no category's id", i,
                                    box.category_id));
    }
    if (++listed[image->second] > kMaxBoxesPerImage) throw too_many_boxes(name, box.image_id);
    if (policy.for_evaluation) {
      raw.ground_truth[i].image = image->second;  // every image stays
      raw.ground_truth[i].label = labels.at(box.category_id);
    }
    if (box.crowd && !policy.keep_crowd) {
      ++report.dropped_crowd;
      continue;
    }
    Box corners;
    const BoxFate fate = to_corners(box, raw.images[image->second], corners);
    if (fate == BoxFate::kNotFinite) {
      ++report.dropped_not_finite;
    } else if (fate == BoxFate::kDegenerate) {
      ++report.dropped_degenerate;
    } else {
      if (fate == BoxFate::kClamped) ++report.boxes_clamped;
      owner[i] = image->second;
      ++raw.images[image->second].box_count;
    }
  }

  std::size_t total = 0;
  for (ImageRecord& image : raw.images) {
    image.first_box = total;
    total += image.box_count;
  }
  set.boxes.resize(total);
  set.labels.resize(total);
  set.crowd.resize(total);
  std::vector<std::size_t> next(raw.images.size());
  std::transform(raw.images.begin(), raw.images.end(), next.begin(),
                 [](const ImageRecord& image) { return image.first_box; });
  for (std::size_t i = 0; i < raw.boxes.size(); ++i) {
    if (owner[i] == kDropped) continue;
    const std::size_t place = next[owner[i]]++;
    to_corners(raw.boxes[i], raw.images[owner[i]], set.boxes[place]);
    set.labels[place] = labels.at(raw.boxes[i].category_id);
    set.crowd[place] = raw.boxes[i].crowd ? 1 : 0;
  }
  report.boxes_read = raw.boxes.size();
  report.boxes_kept = total;
  set.ground_truth = std::move(raw.ground_truth);
  std::erase_if(set.ground_truth, [](const GroundTruthBox& box) {
    return !(std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
             std::isfinite(box.height) && std::isfinite(box.area) && box.width >= 0 &&
             box.height >= 0);
  });
}

}  // namespace

AnnotationSet read_annotations(const fs::path& file, const fs::path& image_folder,
                               const AnnotationPolicy& policy, const Preparation& preparation) {
  const std::string name = printable(file.string());
  AnnotationSet set;
  set.image_folder = image_folder;
  Collector raw(name, policy.for_evaluation);
  set.report.sha256 = parse_coco(file, raw, preparation);
  set.report.images_read = raw.images.size();
  attach_boxes(raw, policy, name, set);
  set.categories = std::move(raw.categories);
  for (ImageRecord& image : raw.images) {
    if (image.box_count == 0) {
      ++set.report.images_without_boxes;
      if (!policy.keep_empty_images && !policy.for_evaluation) continue;
    }
    set.images.push_back(std::move(image));
  }
  set.report.images_kept = set.images.size();
  if (set.images.empty()) {
    throw Error(name, set.report.images_read == 0 ? "lists no images"
                                                  : "no image has a box that can be used");
  }
  return set;
}

Image load_image(const AnnotationSet& set, std::size_t index) {
  const ImageRecord& record = set.images.at(index);
  const fs::path path = set.image_folder / record.file_name;
  Image image = read_image(path);
  if (image.width != record.width || image.height != record.height) {
    throw Error(printable(path.string()),
                fmt::format("is {}x{} pixels, the annotations say {}x{}", image.width, image.height,
                            record.width, record.height),
                "EXIF rotation is not applied; the annotations must fit the stored pixels");
  }
  return image;
}

}  // namespace harness::workloads
