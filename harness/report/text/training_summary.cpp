#include "harness/report/text/training_summary.hpp"

#include <fmt/format.h>

#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostEpochs = 24;

// Each metric of an epoch run has one sample an epoch.
const Sample* sample_of(const Metric* metric, std::size_t index) {
  return metric != nullptr && index < metric->samples.size() ? &metric->samples[index] : nullptr;
}

std::string cell(const Metric* metric, std::size_t index) {
  const Sample* sample = sample_of(metric, index);
  if (sample == nullptr || !sample->value) return "-";
  if (metric->unit == "s") return format_quantity(*sample->value, "s");
  return fmt::format("{:.4f}", *sample->value);
}

}  // namespace

bool shown_by_epoch(const std::string& tag) {
  return tag == "time.epoch" || tag == "time.evaluation" || tag == "time.elapsed" ||
         tag == "time.to-quality" || tag == "epochs.to-quality" || tag.starts_with("quality.") ||
         tag.starts_with("loss.");
}

std::string training_text(const Result& result) {
  if (!result.training) return {};
  const TrainingReport& report = *result.training;
  const Metric* training = find_metric(result.metrics, "time.epoch");
  const Metric* evaluation = find_metric(result.metrics, "time.evaluation");
  const Metric* loss = find_metric(result.metrics, "loss.total");
  const Metric* quality = nullptr;
  for (const Metric& metric : result.metrics) {
    // The first one is the metric with the target.
    if (quality == nullptr && metric.tag.starts_with("quality.")) quality = &metric;
  }
  const std::string name = quality == nullptr ? "quality" : quality->tag.substr(8);
  std::string text = fmt::format("\n{:>5} {:>14} {:>14} {:>12}  {}\n", "epoch", "training",
                                 "evaluation", "mean loss", printable(name, 30));
  const std::size_t count = training == nullptr ? 0 : training->samples.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMostEpochs && i == kMostEpochs / 2) {
      text += "  ...\n";
      i = count - kMostEpochs / 2;
    }
    text += fmt::format("{:>5} {:>14} {:>14} {:>12}  {}\n", training->samples[i].step,
                        cell(training, i), cell(evaluation, i), cell(loss, i), cell(quality, i));
  }
  text +=
      wrap(fmt::format(
               "trained  {} of at most {}, {}, {} on the clock{}",
               format_count(report.epochs, "epoch"), report.max_epochs,
               format_count(report.samples, "sample"), format_quantity(report.seconds, "s"),
               report.resumed.empty()
                   ? ""
                   : fmt::format(", resumed {}", format_count(std::ssize(report.resumed), "time"))),
           80, 9) +
      "\n";
  return text;
}

}  // namespace harness
