#include "harness/kinds/suite/summary.hpp"

#include <fmt/format.h>

#include "harness/base/text.hpp"
#include "harness/kinds/suite/lines.hpp"
#include "harness/report/common_text.hpp"
#include "harness/report/text/columns.hpp"

namespace harness {
namespace {

constexpr std::size_t kNameWidth = 24;

/// "top-1 0.8677/0.8503": beside its target.
std::string quality_shown(const SuiteTask& task) {
  if (!task.quality) return "-";
  const SuiteQuality& quality = *task.quality;
  const auto number = [](const std::optional<double>& value, const char* otherwise) {
    return value ? fmt::format("{:.4g}", *value) : std::string(otherwise);
  };
  return fmt::format("{} {}/{}", cut_middle(quality.metric, 9), number(quality.value, "none"),
                     number(quality.target, "-"));
}

std::string row(const std::string& figure, const std::string& ratio, const std::string& quality,
                const std::string& state) {
  return fmt::format(" {:>14} {:>5}  {:<22} {}", figure, ratio, quality, state);
}

void add_tasks(std::string& text, const Suite& suite, std::size_t columns) {
  text += "\n" + named_row("task/scenario", kNameWidth,
                           row("figure", "x ref", "quality/target", "state"), columns);
  for (const SuiteTask& task : suite.tasks) {
    const std::string figure =
        task.figure ? format_quantity(task.figure->value, printable(task.figure->unit, 24)) : "-";
    const std::string ratio = task.ratio ? ratio_text({*task.ratio, {}, {}, 0}) : "-";
    text += named_row(name_of(task), kNameWidth,
                      row(figure, ratio, quality_shown(task), state_text(task)), columns);
  }
}

void add_score(std::string& text, const Suite& suite, std::size_t columns) {
  const auto add = [&](const std::string& line, std::size_t indent) {
    text += wrap(line, columns, indent) + "\n";
  };
  text += "\n";
  add("score    " + score_text(suite), 9);
  if (suite.reference) {
    const SuiteReference& reference = *suite.reference;
    add(fmt::format("against  {}, {}, tier {}, {}", printable(reference.file, 80),
                    printable(reference.processor, 60), printable(reference.tier, 24),
                    printable(reference.started_at.substr(0, 10), 10)),
        9);
  }
  for (const std::string& line : left_out_lines(suite)) add("  without " + line, 4);
}

}  // namespace

std::string render_summary(const Suite& suite, std::size_t columns) {
  std::string text =
      fmt::format("suite {} · tier {} · division {} · {}\n", printable(suite.rules.version, 16),
                  printable(suite.rules.tier, 16), printable(suite.rules.division, 16),
                  format_count(std::ssize(suite.tasks), "run"));
  std::string asked;
  for (const auto& [name, value] : suite.settings.requested.items()) {
    asked += fmt::format("{}{} {}", asked.empty() ? "" : " · ", printable(name, 40),
                         printable(plain_text(value), 80));
  }
  if (!asked.empty()) text += wrap(asked, columns, 2) + "\n";
  add_tasks(text, suite, columns);
  add_score(text, suite, columns);
  return text + closing_text(suite);
}

}  // namespace harness
