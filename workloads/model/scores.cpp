#include "workloads/model/scores.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "harness/workload/workload.hpp"
#include "workloads/embed/correlation.hpp"
#include "workloads/retinanet/detection_evaluation.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kNumbersOfBox = 6;  // x1, y1, x2, y2, score, class

/// What an answer is held against.
enum class Against { kLabels, kBoxes, kReference };

/// The value of a quality whose answers, labels and reference are all finite.
using Score =
    std::function<void(const ModelAnswers& answers, const at::Tensor& reference, Quality& quality)>;

/// With the reason where it is none.
void put(double value, const char* why_not, Quality& quality) {
  if (std::isfinite(value)) {
    quality.value = value;
  } else {
    quality.reason = why_not;
  }
}

/// Where the largest value of the first output stands.
at::Tensor largest(const at::Tensor& rows, std::int64_t first) {
  return rows.narrow(1, 0, first).argmax(1);
}

double share(const at::Tensor& hits) { return hits.to(at::kDouble).mean().item<double>(); }

void top_1(const ModelAnswers& answers, const at::Tensor& /*reference*/, Quality& quality) {
  quality.value = share(
      largest(answers.rows, answers.first).to(at::kDouble).eq(answers.labels.to(at::kDouble)));
}

void agreement(const ModelAnswers& answers, const at::Tensor& reference, Quality& quality) {
  quality.value = share(largest(answers.rows, answers.first).eq(largest(reference, answers.first)));
}

/// Some rows at a time: in double precision all of them may be more than memory holds.
void relative_error(const ModelAnswers& answers, const at::Tensor& reference, Quality& quality) {
  constexpr std::int64_t kRows = 256;
  double distance = 0;
  double norm = 0;
  for (std::int64_t first = 0; first < reference.size(0); first += kRows) {
    const std::int64_t here = std::min(kRows, reference.size(0) - first);
    const at::Tensor wanted = reference.narrow(0, first, here).to(at::kDouble);
    const at::Tensor got = answers.rows.narrow(0, first, here).to(at::kDouble);
    distance += (got - wanted).square().sum().item<double>();
    norm += wanted.square().sum().item<double>();
  }
  put(distance == 0 ? 0 : std::sqrt(distance / norm), "all answers of the reference are 0",
      quality);
}

void correlation(const ModelAnswers& answers, const at::Tensor& /*reference*/, Quality& quality) {
  const auto series = [](const at::Tensor& values) {
    const at::Tensor whole = values.to(at::kDouble).contiguous();
    const double* const data = whole.const_data_ptr<double>();
    return std::vector<double>(data, data + whole.numel());
  };
  put(pearson(series(answers.rows.select(1, 0)), series(answers.labels)),
      "the answers, or the labels, are all the same", quality);
}

void mean_average_precision(const ModelAnswers& answers, const at::Tensor& /*reference*/,
                            Quality& quality) {
  const KnownBoxes& known = *answers.boxes;
  const at::Tensor boxes = answers.rows.narrow(1, 0, answers.first).to(at::kDouble).contiguous();
  std::vector<CocoDetection> detections;
  for (std::int64_t sample = 0; sample < boxes.size(0); ++sample) {
    const KnownBoxes::Picture& picture = known.pictures[static_cast<std::size_t>(sample)];
    const double* box = boxes.const_data_ptr<double>() + sample * answers.first;
    for (std::int64_t i = 0; i < answers.first; i += kNumbersOfBox, box += kNumbersOfBox) {
      const double score = box[4];
      const double label = box[5];
      if (score <= 0) continue;
      if (label != std::floor(label) || label < 0 || label >= static_cast<double>(known.classes)) {
        quality.reason = "a box has the class " + std::to_string(label) + ": classes are 0 to " +
                         std::to_string(known.classes - 1) + ", by the order of the category ids";
        return;
      }
      detections.push_back({picture.id,
                            static_cast<std::int64_t>(label),
                            {box[0] * picture.across, box[1] * picture.down,
                             std::max(0.0, box[2] - box[0]) * picture.across,
                             std::max(0.0, box[3] - box[1]) * picture.down},
                            score});
    }
  }
  quality = detection_quality(evaluate_coco_boxes(known.ground_truth, detections));
}

struct Metric {
  Against against = Against::kReference;
  bool of_classes = false;  ///< of a first output with a value for each class
  Score score{};
};

// Their directions are in model_metrics().
const std::map<std::string, Metric>& metrics() {
  static const std::map<std::string, Metric> table = {
      {"top-1", {Against::kLabels, true, top_1}},
      {"correlation", {Against::kLabels, false, correlation}},
      {"mAP", {Against::kBoxes, false, mean_average_precision}},
      {"agreement", {Against::kReference, true, agreement}},
      {"relative-error", {Against::kReference, false, relative_error}}};
  return table;
}

/// Whether each is one of so many classes.
bool are_classes(const at::Tensor& labels, std::int64_t classes) {
  const at::Tensor numbers = labels.to(at::kDouble);
  const at::Tensor whole = numbers.eq(numbers.floor());
  return whole.logical_and(numbers.ge(0)).logical_and(numbers.lt(classes)).all().item<bool>();
}

bool are_finite(const at::Tensor& rows) { return rows.isfinite().all().item<bool>(); }

}  // namespace

std::int64_t values_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string metric_misfit(const std::string& metric, const std::vector<std::int64_t>& first,
                          const at::Tensor& labels, const KnownBoxes* boxes) {
  const Metric& known = metrics().at(metric);
  const std::int64_t values = values_of(first);
  if (known.of_classes && values < 2) return "needs a first output of two values or more";
  if (known.against == Against::kLabels && !labels.defined()) return "needs samples with labels";
  if (known.against == Against::kLabels && known.of_classes && !are_classes(labels, values)) {
    return "needs labels that are classes, whole numbers from 0 to " + std::to_string(values - 1);
  }
  if (known.against != Against::kBoxes) return {};
  if (boxes == nullptr) return "needs samples with boxes";
  const bool rows_of_six = first.size() == 2 && first.back() == kNumbersOfBox;
  return rows_of_six ? "" : "needs a first output of shape [boxes, 6]";
}

bool is_held_against_reference(const std::string& metric) {
  return metrics().at(metric).against == Against::kReference;
}

Quality score_model(const std::string& metric, const ModelAnswers& answers) {
  const Metric& known = metrics().at(metric);
  Quality quality{.metric = metric, .direction = model_metrics(false).at(metric)};
  if (!are_finite(answers.rows)) {
    quality.reason = "not all answers are finite";
    return quality;
  }
  const bool compared = known.against == Against::kReference;
  const at::Tensor reference = compared ? answers.reference() : at::Tensor();
  if (compared && !are_finite(reference)) {
    quality.reason = "not all answers of the reference are finite";
    return quality;
  }
  known.score(answers, reference, quality);
  return quality;
}

}  // namespace harness::workloads
