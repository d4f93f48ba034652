#include "harness/report/common_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

constexpr std::size_t kColumns = 100;

}  // namespace

std::string set_up_text(const Settings& settings, const KernelSet& kernels) {
  const auto ranks = settings.effective.value("ranks", std::int64_t{1});
  return fmt::format("{}batch {} · {} · kernels {} · allocator {} · threads {}",
                     ranks > 1 ? fmt::format("{} ranks, each: ", ranks) : "",
                     setting_text(settings, "batch_size"), setting_text(settings, "precision"),
                     kernels_text(kernels), setting_text(settings, "allocator"),
                     setting_text(settings, "threads"));
}

std::string data_text(const std::optional<Artifact>& data) {
  if (!data) return {};
  std::string text = fmt::format("data {}\n", printable(data->name, 74));
  std::vector<std::string> parts;
  for (const auto& [key, value] : data->details) {
    const std::size_t at = key.find("_boxes_");
    if (at == std::string::npos || value == "0") continue;
    std::string what = key.substr(at + 7);
    std::replace(what.begin(), what.end(), '_', ' ');
    parts.push_back(fmt::format("{} {} in {}", printable(value, 20), printable(what, 40),
                                printable(key.substr(0, at), 20)));
  }
  if (parts.empty()) return text;
  return text + wrap("boxes changed: " + join(parts, ", "), kColumns, 2) + "\n";
}

std::string achieved_text(const CostReport& cost) {
  if (!cost.utilisation) return printable(cost.reason);
  const double done = cost.work_done.value_or(1);
  return fmt::format(
      "{:.1f} % of the measured {} peak{}", 100 * *cost.utilisation,
      printable(cost.cost.precision, 8),
      done < 1 ? fmt::format(", effective: {:.0f} % of it was done", 100 * done) : "");
}

bool is_incomplete(const Violation& violation) {
  return violation.rule == kCompletedRule || violation.rule == kRunThereRule ||
         (violation.rule == kRunValidRule && violation.actual == to_text(RunState::kAborted));
}

std::string violation_text(const Violation& violation) {
  // It broke no rule, somebody stopped it.
  if (violation.rule == kCompletedRule) {
    return fmt::format("{}; {}", printable(violation.actual), printable(violation.hint));
  }
  return fmt::format("{} at {}: expected {}, got {}{}", printable(violation.rule, 40),
                     printable(violation.path, 60), printable(violation.expected, 80),
                     printable(violation.actual),
                     violation.hint.empty() ? "" : " (" + printable(violation.hint) + ")");
}

std::vector<std::string> mistrust_texts(const Status& status) {
  std::vector<std::string> texts;
  for (const std::string& reason : status.mistrust_reasons) {
    const auto remedy =
        std::find_if(status.recommendations.begin(), status.recommendations.end(),
                     [&](const std::string& advice) { return advice.starts_with(reason + ": "); });
    texts.push_back(printable(remedy == status.recommendations.end() ? reason : *remedy, 400));
  }
  return texts;
}

std::vector<std::string> advice_texts(const Status& status) {
  std::vector<std::string> texts;
  for (const std::string& advice : status.recommendations) {
    const auto said = [&](const std::string& reason) {
      return reason.ends_with(advice) || advice.starts_with(reason + ": ");
    };
    if (std::any_of(status.mistrust_reasons.begin(), status.mistrust_reasons.end(), said)) continue;
    texts.push_back(printable(advice, 400));
  }
  return texts;
}

std::string closing_text(const ResultCommon& result) {
  std::string text;
  for (const Departure& departure : result.rules.departures) {
    text += wrap(fmt::format("departs from {}: {} is {}, the rules have {}",
                             printable(result.rules.file, 40), printable(departure.path, 50),
                             printable(departure.actual, 60), printable(departure.expected, 60)),
                 kColumns, 2) +
            "\n";
  }
  const Status& status = result.status;
  text += fmt::format("\nstatus   {}{}\n", to_text(status.state),
                      status.mistrusted ? ", MISTRUSTED" : "");
  for (const Violation& violation : status.violations) {
    text += wrap("  " + violation_text(violation), kColumns, 4) + "\n";
  }
  for (const std::string& reason : mistrust_texts(status)) {
    text += wrap("  mistrusted: " + reason, kColumns, 4) + "\n";
  }
  for (const std::string& advice : advice_texts(status)) {
    text += wrap("  advice: " + advice, kColumns, 4) + "\n";
  }
  return text + kUnverifiedNotice + "\n";
}

}  // namespace harness
