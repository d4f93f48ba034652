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

/// How the chosen set-up came about.
std::string choice_text(const SetUpTrials& set_up) {
  const SetUpTrial& best = best_set_up(set_up.trials);
  const SetUpTrial& usual = set_up.trials.front();
  const std::string gain =
      &best == &usual
          ? "the usual one"
          : fmt::format("{:.2f}x the usual ({})",
                        best.samples_per_second / usual.samples_per_second, trial_text(usual));
  return fmt::format("{}: {}, best of {} tried{}", trial_text(best), gain,
                     std::ssize(set_up.trials), set_up.from.empty() ? "" : " before");
}

/// The query loop begins each reason that comes of the compliance test with the test's name.
bool is_of_audit(const LoadGenReport& report, const std::string& reason) {
  return !report.audit.empty() && reason.starts_with(report.audit + ": ");
}

void add_audit(LoadGenWords& words, const LoadGenReport& report) {
  if (report.audit.empty()) return;
  std::vector<std::string> reasons;
  for (const std::string& reason : report.reasons) {
    if (!is_of_audit(report, reason)) continue;
    reasons.push_back(printable(reason.substr(report.audit.size() + 2), 400));
  }
  words.audit_passed = reasons.empty();
  words.audit = printable(report.audit, 16) +
                (reasons.empty() ? " passed" : " FAILED: " + join(reasons, "; "));
}

std::string row(const char* name, const std::string& text) {
  return wrap(fmt::format("{:<26} {}", name, text), kColumns, 27) + "\n";
}

}  // namespace

std::string set_up_text(const Result& run) {
  // Of a chosen one the effective settings hold the same.
  const std::string threads = setting_text(run.settings, "threads");
  return fmt::format("{} thread{}, batches of {}, {}", threads, threads == "1" ? "" : "s",
                     setting_text(run.settings, "batch_size"),
                     setting_text(run.settings, "precision"));
}

LoadGenWords loadgen_words(const Result& result) {
  const LoadGenReport& report = *result.loadgen;
  LoadGenWords words;
  words.figure = report.figure.value > 0
                     ? format_quantity(report.figure.value, printable(report.figure.unit, 16))
                     : "none";
  words.test = fmt::format("{} in {}{}", queries_text(result), format_quantity(report.seconds, "s"),
                           searched_text(report));
  for (const std::string& reason : report.reasons) {
    if (!is_of_audit(report, reason)) words.reasons.push_back(printable(reason, 400));
  }
  // Of offline they say when in the test samples were done.
  if (result.rules.scenario != "offline") words.latencies = percentiles_text(report);
  if (report.set_up) words.set_up = choice_text(*report.set_up);
  add_audit(words, report);
  return words;
}

std::string loadgen_text(const Result& result) {
  if (!result.loadgen) return {};
  const LoadGenReport& report = *result.loadgen;
  const LoadGenWords words = loadgen_words(result);
  std::string text =
      wrap(fmt::format("{:<26} {:>16}  {}: {}", "LoadGen " + printable(report.figure.tag, 18),
                       words.figure, report.valid ? "valid" : "INVALID", words.test),
           kColumns, 45) +
      "\n";
  if (result.rules.scenario != "offline") {
    text += fmt::format("{:<26} {}\n", "latency of a query", words.latencies);
  }
  if (!words.set_up.empty()) text += row("set-up", words.set_up);
  if (!words.audit.empty()) text += row("compliance test", words.audit);
  return text;
}

}  // namespace harness
