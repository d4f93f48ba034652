#include "harness/report/text/loadgen_text.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::array kShown = {50.0, 90.0, 99.0, 99.9};

std::string percentiles_text(const LoadGenReport& report) {
  std::vector<std::string> shown;
  for (const LatencyPercentile& one : report.percentiles) {
    for (const double wanted : kShown) {
      if (one.percentile != wanted) continue;
      shown.push_back(fmt::format("p{:g} {}", wanted, format_quantity(one.seconds, "s")));
    }
  }
  return join(shown, ", ");
}

std::string searched_text(const LoadGenReport& report) {
  if (report.search.empty()) return {};
  return fmt::format("; the rate was found by {}",
                     format_count(std::ssize(report.search), "trial"));
}

/// "1024 queries of 8"; of the other scenarios a query is a sample.
std::string queries_text(const Result& result) {
  const LoadGenReport& report = *result.loadgen;
  if (result.rules.scenario == "offline") return format_count(report.queries, "sample");
  std::string text = fmt::format("{} queries", report.queries);
  const auto size = report.requested.find("multi_stream_samples_per_query");
  if (result.rules.scenario == "multi-stream" && size != report.requested.end()) {
    text += fmt::format(" of {}", printable(size->dump(), 16));
  }
  return text;
}

std::string trial_text(const SetUpTrial& trial) {
  return fmt::format("{}, batches of {}{}", format_count(trial.threads, "thread"), trial.batch_size,
                     trial.precision.empty() ? "" : ", " + printable(trial.precision, 8));
}

std::string set_up_text(const SetUpTrials& set_up) {
  const SetUpTrial& best = best_set_up(set_up.trials);
  const SetUpTrial& usual = set_up.trials.front();
  const std::string gain =
      &best == &usual
          ? "the usual one"
          : fmt::format("{:.2f}x the usual ({})",
                        best.samples_per_second / usual.samples_per_second, trial_text(usual));
  return wrap(fmt::format("{:<26} {}: {}, best of {} tried{}", "set-up", trial_text(best), gain,
                          std::ssize(set_up.trials), set_up.from.empty() ? "" : " before"),
              kColumns, 27) +
         "\n";
}

}  // namespace

std::string loadgen_text(const Result& result) {
  if (!result.loadgen) return {};
  const LoadGenReport& report = *result.loadgen;
  const bool offline = result.rules.scenario == "offline";
  std::string text =
      wrap(fmt::format("{:<26} {:>16}  {}: {} in {}{}",
                       "LoadGen " + printable(report.figure.tag, 18),
                       report.figure.value > 0
                           ? format_quantity(report.figure.value, printable(report.figure.unit, 16))
                           : "none",
                       report.valid ? "valid" : "INVALID", queries_text(result),
                       format_quantity(report.seconds, "s"), searched_text(report)),
           kColumns, 45) +
      "\n";
  // Of offline they say when in the test samples were done.
  if (!offline) text += fmt::format("{:<26} {}\n", "latency of a query", percentiles_text(report));
  if (report.set_up) text += set_up_text(*report.set_up);
  return text;
}

}  // namespace harness
