#include "workloads/model/scores.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "workloads/embed/correlation.hpp"

namespace harness::workloads {
namespace {

/// Where the largest value of the first output stands.
at::Tensor largest(const at::Tensor& rows, std::int64_t first) {
  return rows.narrow(1, 0, first).argmax(1);
}

double share(const at::Tensor& hits) { return hits.to(at::kDouble).mean().item<double>(); }

double top_1(const ModelAnswers& answers) {
  return share(
      largest(answers.rows, answers.first).to(at::kDouble).eq(answers.labels.to(at::kDouble)));
}

double agreement(const ModelAnswers& answers) {
  return share(
      largest(answers.rows, answers.first).eq(largest(answers.reference(), answers.first)));
}

double relative_error(const ModelAnswers& answers) {
  const at::Tensor wanted = answers.reference().to(at::kDouble);
  const double norm = wanted.norm().item<double>();
  const double distance = (answers.rows.to(at::kDouble) - wanted).norm().item<double>();
  return distance == 0 ? 0 : distance / norm;
}

double correlation(const ModelAnswers& answers) {
  const auto series = [](const at::Tensor& values) {
    const at::Tensor whole = values.to(at::kDouble).contiguous();
    const double* const data = whole.const_data_ptr<double>();
    return std::vector<double>(data, data + whole.numel());
  };
  return pearson(series(answers.rows.select(1, 0)), series(answers.labels));
}

struct Metric {
  Direction direction = Direction::kHigher;
  bool of_classes = false;  ///< of a first output with a value for each class
  bool by_labels = false;
  std::function<double(const ModelAnswers&)> value{};
};

const std::map<std::string, Metric>& metrics() {
  static const std::map<std::string, Metric> table = {
      {"top-1", {Direction::kHigher, true, true, top_1}},
      {"correlation", {Direction::kHigher, false, true, correlation}},
      {"agreement", {Direction::kHigher, true, false, agreement}},
      {"relative-error", {Direction::kLower, false, false, relative_error}}};
  return table;
}

}  // namespace

std::int64_t values_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::string> model_metrics() {
  std::vector<std::string> names;
  for (const auto& [name, metric] : metrics()) names.push_back(name);
  return names;
}

std::string metric_misfit(const std::string& metric, std::int64_t first, bool labelled) {
  const Metric& known = metrics().at(metric);
  if (known.of_classes && first < 2) return "needs a first output of two values or more";
  if (known.by_labels && !labelled) return "needs samples with labels";
  return {};
}

Quality score_model(const std::string& metric, const ModelAnswers& answers) {
  const Metric& known = metrics().at(metric);
  Quality quality{.metric = metric, .direction = known.direction};
  if (!answers.rows.isfinite().all().item<bool>()) {
    quality.reason = "not all answers are finite";
    return quality;
  }
  const double value = known.value(answers);
  if (std::isfinite(value)) {
    quality.value = value;
  } else {
    quality.reason = "what it is held against is not finite, or all the same";
  }
  return quality;
}

}  // namespace harness::workloads
