#include "harness/report/text/series_summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/stats/stats.hpp"

namespace harness {

std::string render_training_series(const std::vector<Result>& runs) {
  std::vector<std::optional<double>> times;
  std::vector<std::string> epochs;
  std::vector<std::string> qualities;
  std::size_t reached = 0;
  for (const Result& run : runs) {
    if (!run.training) continue;
    const TrainingReport& report = *run.training;
    times.push_back(report.target_reached ? std::optional(report.seconds) : std::nullopt);
    reached += report.target_reached ? 1 : 0;
    epochs.push_back(std::to_string(report.epochs));
    const bool known = run.quality && run.quality->quality.value;
    qualities.push_back(known ? fmt::format("{:.4g}", *run.quality->quality.value) : "none");
  }
  if (times.empty()) return {};
  const std::optional<double> score = olympic_mean(times);
  std::string text;
  const auto add = [&](const std::string& what, const std::string& value) {
    text += wrap(fmt::format("{:<18} {}", what, value), 80, 19) + "\n";
  };
  add("target reached", fmt::format("{} of {}", reached, format_count(std::ssize(times), "run")));
  add("time to quality",
      score ? fmt::format("{}, mean without the fastest and the slowest",
                          format_quantity(*score, "s"))
            : "no score: that takes three runs, and at most one may miss the target");
  add("epochs", join(epochs, ", "));
  add("final quality", join(qualities, ", "));
  return text;
}

}  // namespace harness
