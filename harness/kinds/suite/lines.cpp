#include "harness/kinds/suite/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"

namespace harness {

std::string quality_text(const SuiteTask& task) {
  if (!task.quality) return "";
  const SuiteQuality& quality = *task.quality;
  std::string text = printable(quality.metric, 24) + " " +
                     (quality.value ? fmt::format("{:.4g}", *quality.value) : "none");
  if (const auto share = share_of_fp32(quality)) {
    text += fmt::format(" ({:.1f} % of fp32)", 100 * *share);
  }
  if (quality.target) text += fmt::format(", target {:.4g}", *quality.target);
  return text;
}

std::string state_text(const SuiteTask& task) {
  if (!task.run) return task.available ? "no result" : "not here";
  if (task.quality && !task.quality->passed.value_or(true)) return "MISSED";
  if (task.run->state == RunState::kInvalid) return "INVALID";
  return task.run->state == RunState::kValid && task.run->mistrusted ? "mistrusted"
                                                                     : to_text(task.run->state);
}

Tone tone_of(const SuiteTask& task) {
  if (!task.run) return task.available ? Tone::kBad : Tone::kPlain;
  if (task.run->state == RunState::kInvalid) return Tone::kBad;
  if (task.run->state != RunState::kValid || task.run->mistrusted) return Tone::kDoubt;
  return Tone::kGood;
}

std::string task_line(const SuiteTask& task) {
  std::vector<std::string> parts;
  if (task.figure) parts.push_back(figure_text(*task.figure));
  if (task.quality) parts.push_back(quality_text(task));
  parts.push_back(state_text(task));
  if (task.run) parts.push_back(fmt::format("{:.1f} s", task.run->seconds));
  return fmt::format("{}: {}", printable(name_of(task), 80), join(parts, ", "));
}

std::string plain_score_text(const Suite& suite) {
  const SuiteScore& score = suite.score;
  if (!score.value) return "none: " + printable(score.reason);
  return fmt::format("{} x the reference, over {} of {}", ratio_text({*score.value, {}, {}, 0}),
                     score.counted.size(), suite.tasks.size());
}

std::string score_text(const Suite& suite) {
  std::string text = plain_score_text(suite);
  if (const auto doubtful = mistrusted_in_score(suite); doubtful > 0) {
    text += fmt::format("; {} of them {} mistrusted", doubtful, doubtful == 1 ? "is" : "are");
  }
  return text;
}

std::ptrdiff_t mistrusted_in_score(const Suite& suite) {
  return std::count_if(suite.tasks.begin(), suite.tasks.end(), [](const SuiteTask& task) {
    return task.ratio && task.run && task.run->mistrusted;
  });
}

std::vector<std::string> left_out_lines(const Suite& suite) {
  // A reason, and whom it holds for: scenarios by task, both as they come.
  struct Group {
    std::string reason{};
    std::vector<std::pair<std::string, std::vector<std::string>>> tasks{};
    std::size_t count = 0;
  };
  std::vector<Group> groups;
  for (const SuiteTask& task : suite.tasks) {
    if (task.ratio || (!suite.reference && counts(task))) continue;
    auto known = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& one) { return one.reason == task.no_ratio; });
    if (known == groups.end()) known = groups.insert(groups.end(), {task.no_ratio, {}, 0});
    ++known->count;
    auto& tasks = known->tasks;
    if (tasks.empty() || tasks.back().first != task.workload) tasks.push_back({task.workload, {}});
    tasks.back().second.push_back(printable(task.scenario, 40));
  }
  std::vector<std::string> lines;
  for (const Group& group : groups) {
    std::vector<std::string> names;
    for (const auto& [workload, scenarios] : group.tasks) {
      const std::string list = join(scenarios, ", ");
      names.push_back(printable(workload, 40) +
                      (scenarios.size() == 1 ? "/" + list : " (" + list + ")"));
    }
    const bool all = group.count == suite.tasks.size() && group.count > 1;
    lines.push_back((all ? fmt::format("all {}", group.count) : join(names, ", ")) + ": " +
                    printable(group.reason));
  }
  return lines;
}

ReportLine line_of_suite(const Suite& suite, const ReportFile& file) {
  ReportLine line = common_line(suite, file);
  line.stack = "suite, " + format_count(std::ssize(suite.tasks), "run");
  line.headline = {"score", suite.score.value ? score_text(suite) : "-", suite.score.value};
  const auto missed = std::count_if(
      suite.tasks.begin(), suite.tasks.end(),
      [](const SuiteTask& task) { return task.quality && !task.quality->passed.value_or(true); });
  const auto judged =
      std::count_if(suite.tasks.begin(), suite.tasks.end(),
                    [](const SuiteTask& task) { return task.quality && task.quality->passed; });
  line.quality = judged == 0   ? "-"
                 : missed == 0 ? "met by all"
                               : fmt::format("{} of {} MISSED", missed, judged);
  return line;
}

}  // namespace harness
