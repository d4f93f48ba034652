#include "workloads/retinanet/golden_file.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "workloads/retinanet/architecture.hpp"
#include "workloads/retinanet/cost.hpp"

namespace harness::workloads {
namespace {

using Json = nlohmann::json;

constexpr JsonLimits kLimits{.file_bytes = std::size_t{16} << 20,
                             .depth = 16,
                             .string_bytes = 4096,
                             .values = std::size_t{1} << 18};
constexpr std::size_t kListLimit = 1 << 16;
constexpr std::int64_t kMaxClasses = 4096;
constexpr std::int64_t kMaxExtent = 4096;
constexpr std::size_t kMaxImages = 64;
constexpr std::size_t kMaxBoxes = 4096;

// A value together with its path, so that every complaint names the place.
class Node {
 public:
  Node(const Json& value, std::string place, const std::string& file)
      : value_(value), place_(std::move(place)), file_(file) {}

  [[noreturn]] void fail(const std::string& why) const {
    std::string what = place_;
    if (!what.empty()) what += ' ';
    throw Error("golden file " + printable(file_), printable(what) + why);
  }
  Node operator[](const std::string& key) const {
    if (!value_.is_object()) fail("is not an object");
    const auto found = value_.find(key);
    if (found == value_.end()) fail("lacks '" + key + "'");
    std::string place = place_;
    if (!place.empty()) place += '.';
    place += key;
    return {*found, std::move(place), file_};
  }
  Node operator[](std::size_t index) const {
    std::string place = place_;
    place.append("[").append(std::to_string(index)).append("]");
    return {value_[index], std::move(place), file_};
  }
  std::size_t list(std::size_t limit = kListLimit) const {
    if (!value_.is_array()) fail("is not a list");
    if (value_.size() > limit) fail("has more than " + std::to_string(limit) + " entries");
    return value_.size();
  }
  double number() const {
    if (!value_.is_number()) fail("is not a number");
    const double number = value_.get<double>();
    if (!std::isfinite(number)) fail("is not finite");
    return number;
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) const {
    if (!value_.is_number_integer() || value_ < low || value_ > high) {
      fail("is not a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return value_.get<std::int64_t>();
  }
  std::string text() const {
    if (!value_.is_string()) fail("is not a text");
    return value_.get<std::string>();
  }
  const Json& json() const { return value_; }

 private:
  const Json& value_;
  std::string place_;
  const std::string& file_;
};

GoldenSummary read_summary(const Node& node, std::int64_t elements) {
  GoldenSummary summary{.sum = node["sum"].number(), .l2 = node["l2"].number()};
  const Node samples = node["samples"];
  for (std::size_t i = 0, n = samples.list(); i < n; ++i) {
    if (samples[i].list() != 2) samples[i].fail("is not [index, value]");
    summary.samples.emplace_back(samples[i][0].integer(0, elements - 1), samples[i][1].number());
  }
  return summary;
}

GoldenImage read_image(const Node& node, std::int64_t num_classes) {
  const Node shape = node["shape"];
  if (shape.list() != 3) shape.fail("is not [3, height, width]");
  shape[0].integer(3, 3);
  GoldenImage image{.fill = node["fill"].text(),
                    .height = shape[1].integer(1, kMaxExtent),
                    .width = shape[2].integer(1, kMaxExtent)};
  const Node boxes = node["boxes"];
  for (std::size_t i = 0, n = boxes.list(kMaxBoxes); i < n; ++i) {
    if (boxes[i].list() != 4) boxes[i].fail("is not [x1, y1, x2, y2]");
    for (std::size_t k = 0; k < 4; ++k) {
      const double value = boxes[i][k].number();
      if (std::abs(value) > 2 * kMaxExtent) boxes[i][k].fail("is far outside the image");
      image.boxes.push_back(static_cast<float>(value));
    }
    const float* box = image.boxes.data() + 4 * i;
    if (box[2] <= box[0] || box[3] <= box[1]) boxes[i].fail("has no width or no height");
  }
  const Node labels = node["labels"];
  if (labels.list() != boxes.list()) labels.fail("has another length than boxes");
  for (std::size_t i = 0, n = labels.list(); i < n; ++i) {
    image.labels.push_back(labels[i].integer(0, num_classes - 1));
  }
  return image;
}

GoldenTensor read_tensor(const Node& node) {
  GoldenTensor tensor{.name = node["name"].text(),
                      .center = node["center"].number(),
                      .bound = node["bound"].number()};
  const Node shape = node["shape"];
  for (std::size_t i = 0, n = shape.list(4); i < n; ++i) {
    tensor.shape.push_back(shape[i].integer(1, std::int64_t{1} << 24));
  }
  return tensor;
}

GoldenDetections read_detections(const Node& node, std::int64_t num_classes) {
  GoldenDetections detections{.count = node["count"].integer(0, 1 << 20),
                              .score_sum = node["score_sum"].number()};
  const Node first = node["first"];
  for (std::size_t i = 0, n = first.list(); i < n; ++i) {
    GoldenDetection detection{.score = first[i]["score"].number(),
                              .label = first[i]["label"].integer(0, num_classes - 1)};
    const Node box = first[i]["box"];
    if (box.list() != 4) box.fail("is not [x1, y1, x2, y2]");
    for (std::size_t k = 0; k < 4; ++k) detection.box[k] = box[k].number();
    detections.first.push_back(detection);
  }
  if (static_cast<std::int64_t>(detections.first.size()) > detections.count) {
    first.fail("is longer than count");
  }
  return detections;
}

void read_case(const Node& node, GoldenCase& golden) {
  golden.num_classes = node["num_classes"].integer(1, kMaxClasses);
  const Node size = node["image_size"];
  if (size.list() != 2) size.fail("is not [height, width]");
  golden.height = size[0].integer(1, kMaxExtent);
  golden.width = size[1].integer(1, kMaxExtent);
  golden.seed = static_cast<std::uint64_t>(node["seed"].integer(0, INT64_MAX));
  golden.detection_bias_shift = node["detection_bias_shift"].number();
  const Node images = node["images"];
  if (images.list(kMaxImages) == 0) images.fail("is empty");
  for (std::size_t i = 0, n = images.list(); i < n; ++i) {
    golden.images.push_back(read_image(images[i], golden.num_classes));
  }
  const Node tensors = node["tensors"];
  for (std::size_t i = 0, n = tensors.list(); i < n; ++i) {
    golden.tensors.push_back(read_tensor(tensors[i]));
  }
  const Node trainable = node["trainable"];
  std::set<std::string> parts;
  for (std::size_t i = 0, n = trainable.list(); i < n; ++i) parts.insert(trainable[i].text());
  if (parts != std::set<std::string>{"layer2", "layer3", "layer4", "fpn", "head"}) {
    trainable.fail("is not layer2, layer3, layer4, fpn, head: the model trains no other set");
  }
}

void read_expected(const Node& node, GoldenCase& golden) {
  const auto images = static_cast<std::int64_t>(golden.images.size());
  golden.classification_loss = node["classification_loss"].number();
  golden.box_loss = node["box_loss"].number();
  const Node after = node["after_one_adam_step"];
  golden.classification_loss_after_adam = after["classification_loss"].number();
  golden.box_loss_after_adam = after["box_loss"].number();
  golden.anchors_per_image = node["anchors_per_image"].integer(1, INT32_MAX);
  const std::int64_t anchors = anchor_count(golden.height, golden.width);
  golden.logits = read_summary(node["cls_logits"], images * anchors * golden.num_classes);
  golden.codes = read_summary(node["bbox_regression"], images * anchors * 4);
  golden.anchors = read_summary(node["anchors"], anchors * 4);
  const Node matched = node["matched"];
  const Node detections = node["detections"];
  if (matched.list() != golden.images.size()) matched.fail("is not one entry per image");
  if (detections.list() != golden.images.size()) detections.fail("is not one entry per image");
  for (std::size_t i = 0; i < golden.images.size(); ++i) {
    const auto count = [&](const char* key) { return matched[i][key].integer(0, INT32_MAX); };
    golden.matched.push_back({count("foreground"), count("background"), count("ignored")});
    golden.detections.push_back(read_detections(detections[i], golden.num_classes));
  }
  const Node gradients = node["gradients"];
  if (!gradients.json().is_object()) gradients.fail("is not an object");
  std::map<std::string, std::int64_t> elements;
  for (const ConvLayer& layer : retinanet_layers(golden.num_classes)) {
    if (!layer.trainable) continue;
    elements[layer.name + ".weight"] = layer.weight_count();
    if (layer.bias) elements[layer.name + ".bias"] = layer.out_channels;
  }
  for (const auto& [name, count] : elements) {
    golden.gradients.emplace(name, read_summary(gradients[name], count));
  }
  if (gradients.json().size() != elements.size()) {
    gradients.fail("names parameters that are not trained");
  }
}

// Refuses what this machine could not hold before anything is allocated.
void check_memory(const Node& node, const GoldenCase& golden) {
  std::size_t boxes = 0;
  for (const GoldenImage& image : golden.images) boxes = std::max(boxes, image.labels.size());
  const double needed =
      retinanet_memory_bytes(static_cast<std::int64_t>(golden.images.size()), golden.height,
                             golden.width, golden.num_classes, static_cast<std::int64_t>(boxes));
  const double available = physical_memory_bytes();
  if (needed > available) {
    node.fail("describes a case that needs " + format_quantity(needed, "B") +
              " of memory; this machine has " + format_quantity(available, "B"));
  }
}

}  // namespace

GoldenCase read_golden_file(const std::filesystem::path& path) {
  const std::string file = path.string();
  const Json json = read_json_file(path, kLimits);
  const Node root(json, "", file);
  const std::string format = root["format"].text();
  if (format != "retinanet-golden/1") {
    root["format"].fail("is '" + printable(format) + "', not 'retinanet-golden/1'");
  }
  GoldenCase golden;
  read_case(root["case"], golden);
  check_memory(root["case"], golden);
  read_expected(root["expected"], golden);
  return golden;
}

}  // namespace harness::workloads
