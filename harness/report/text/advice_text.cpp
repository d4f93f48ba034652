#include "harness/report/text/advice_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/report/common_text.hpp"
#include "harness/report/text/columns.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr double kWorthALine = 0.01;  // of a step

/// Expected gains by what they ask for, since one change may be advised for several reasons.
std::map<AdvisedChange, double> expected_by_change(const AdviceReport& report) {
  std::map<AdvisedChange, double> sums;
  for (const Advice& advice : report.advice) {
    if (advice.change && advice.expected_seconds) sums[*advice.change] += *advice.expected_seconds;
  }
  return sums;
}

std::string gain_text(double seconds, double step_seconds) {
  if (step_seconds <= 0) return format_quantity(seconds, "s");
  return fmt::format("{} ({:.1f} %)", format_quantity(seconds, "s"), 100 * seconds / step_seconds);
}

std::string advice_lines(const AdviceReport& report, std::size_t columns) {
  std::string text;
  int number = 0;
  bool said = false;
  for (const Advice& advice : report.advice) {
    if (advice.changes_numbers && !said) {
      text += "\nThese change the arithmetic: the model has to be verified anew.\n";
      said = true;
    }
    const std::string expected = advice.expected_seconds
                                     ? gain_text(*advice.expected_seconds, report.step_seconds)
                                     : "not known";
    text += wrap(fmt::format("\n{:>2}. {}: {} a step expected", ++number,
                             cut_middle(advice.topic, 60), expected),
                 columns, 4) +
            "\n";
    text += wrap("    " + printable(advice.finding, 400), columns, 4) + "\n";
    if (!advice.basis.empty()) {
      text += wrap("    expected: " + printable(advice.basis, 400), columns, 14) + "\n";
    }
    if (advice.change) text += "    try: " + printable(option_of(*advice.change), 100) + "\n";
  }
  return text;
}

std::string tried_lines(const AdviceReport& report, std::size_t columns) {
  constexpr const char* kRest = " {:>11} {:>11}  {:<24} {:>9}";
  const std::size_t width = std::min<std::size_t>(columns - 59, 34);
  std::string text =
      "\n" + named_row("tried", width, fmt::format(kRest, "expected", "measured", "", "exp/meas"),
                       columns);
  const auto expected = expected_by_change(report);
  for (const auto& [change, gain] : report.measured) {
    const auto found = expected.find(change);
    std::string interval;
    if (gain.low && gain.high) {
      interval = fmt::format("[{}, {}]", format_quantity(*gain.low, "s"),
                             format_quantity(*gain.high, "s"));
    }
    const bool known = found != expected.end();
    const std::string rest = fmt::format(
        kRest, known ? format_quantity(found->second, "s") : "-", format_quantity(gain.center, "s"),
        interval,
        known && gain.center > 0 ? fmt::format("{:.2f}", found->second / gain.center) : "-");
    text += named_row(option_of(change), width, rest, columns);
  }
  if (report.ablations > 1) {
    text += fmt::format("measured: the median of {} ablations [the least, the greatest]\n",
                        report.ablations);
  }
  return text;
}

}  // namespace

std::string option_of(const AdvisedChange& change) {
  for (const char* setting : {"allocator", "precision", "threads"}) {
    if (change.setting == setting) return fmt::format("--{} {}", setting, change.value);
  }
  return fmt::format("--kernels {}={}", change.setting, change.value);
}

std::string render_advice(const AdviceReport& report, const Profile& profile, std::size_t columns) {
  std::string text = fmt::format(
      "advice for {} {}, a recorded step of {}\n", printable(profile.rules.workload, 40),
      printable(profile.rules.version, 16), format_quantity(report.step_seconds, "s"));
  text += wrap(set_up_text(profile.settings, profile.kernels), columns, 2) + "\n";
  text += advice_lines(report, columns);
  const bool unexplained = report.unexplained_seconds > kWorthALine * report.step_seconds;
  if (report.advice.empty()) {
    text += fmt::format("\nNothing here brings one percent{}.\n",
                        unexplained ? "" : ": what is left are the primitives themselves");
  }
  if (unexplained) {
    text += "\n" +
            wrap(fmt::format("{} of this step are explained by none of these: neither primitives "
                             "and kernels at work, nor a gain expected above.",
                             gain_text(report.unexplained_seconds, report.step_seconds)),
                 columns, 0) +
            "\n";
  }
  if (report.floors) {
    text += "\n" + wrap("Its " + floors_text(*report.floors) + ".", columns, 0) + "\n";
  }
  if (!report.measured.empty()) text += tried_lines(report, columns);
  if (!report.try_command.empty() && report.measured.empty()) {
    // Lines to be pasted are whole, or of no use.
    text += "\nTo try them, one on top of the other:\n  " + printable(report.try_command, 4096) +
            "\n  " + started_as() + " advise " + pasted_word(printable(report.profile_file, 4096)) +
            " --measured ablation.json\n";
  }
  for (const std::string& note : report.notes) {
    text += wrap("note     " + printable(note, 400), columns, 9) + "\n";
  }
  return text;
}

json to_json(const AdviceReport& report) {
  json list = json::array();
  const auto expected = expected_by_change(report);
  for (const Advice& advice : report.advice) {
    json item = {{"topic", advice.topic},
                 {"finding", advice.finding},
                 {"basis", advice.basis},
                 {"expected_seconds", or_null(advice.expected_seconds)},
                 {"expected_share", json()},
                 {"changes_numbers", advice.changes_numbers},
                 {"try", advice.change ? json(option_of(*advice.change)) : json()},
                 {"measured_seconds", json()},
                 {"expected_by_change", json()}};
    if (advice.expected_seconds && report.step_seconds > 0) {
      item["expected_share"] = *advice.expected_seconds / report.step_seconds;
    }
    if (advice.change) {
      const auto sum = expected.find(*advice.change);
      if (sum != expected.end()) item["expected_by_change"] = sum->second;
      const auto gain = report.measured.find(*advice.change);
      if (gain != report.measured.end()) item["measured_seconds"] = gain->second.center;
    }
    list.push_back(std::move(item));
  }
  return {{"profile", report.profile_uuid},
          {"file", report.profile_file},
          {"step_seconds", report.step_seconds},
          {"advice", list},
          {"unexplained_seconds", report.unexplained_seconds},
          {"floors", floors_json(report.floors)},
          {"try_command", report.try_command},
          {"notes", report.notes}};
}

}  // namespace harness
