#include "harness/kinds/suite/tables.hpp"

#include "harness/base/text.hpp"
#include "harness/kinds/suite/lines.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

/// The beginning of a row of metric_table(), of one value.
CsvRow metric_row(const std::string& tag, const std::string& unit, Direction direction,
                  const std::optional<double>& value) {
  CsvRow row = {printable(tag), printable(unit), to_text(direction), "1", csv_number(value)};
  row.resize(metric_columns().size());
  return row;
}

CsvRow quality_row(const SuiteTask& task) {
  if (!task.quality) return CsvRow(4);
  const SuiteQuality& quality = *task.quality;
  return {printable(quality.metric), csv_number(quality.value), csv_number(quality.target),
          quality.passed ? yes_no(*quality.passed) : ""};
}

}  // namespace

void add_metric_rows(CsvTable& table, const Suite& suite, bool sound) {
  const CsvRow identity = identity_row(suite, kSuiteName, sound);
  const std::string precision = setting_text(suite.settings, "precision");
  const auto add = [&](const std::string& name, const CsvRow& metric) {
    table.add(
        joined({metric, stack_row(name, precision == "-" ? "" : precision, "", {}), identity}));
  };
  for (const SuiteTask& task : suite.tasks) {
    if (!task.figure) continue;
    const Figure& figure = *task.figure;
    add(name_of(task), metric_row(figure.tag, figure.unit, figure.direction, figure.value));
  }
  if (!suite.score.value) return;
  add("", metric_row("score", "1", Direction::kHigher, suite.score.value));
}

std::string tasks_csv(const Suite& suite) {
  CsvTable table(joined({{"task", "scenario", "figure", "unit", "direction", "value", "reference",
                          "ratio", "quality_metric", "quality", "quality_target", "quality_passed",
                          "state", "task_run", "file", "score"},
                         identity_columns()}));
  const CsvRow identity = identity_row(suite, kSuiteName, true);
  for (const SuiteTask& task : suite.tasks) {
    CsvRow figure(4);
    if (task.figure) {
      figure = {printable(task.figure->tag), printable(task.figure->unit),
                to_text(task.figure->direction), csv_number(task.figure->value)};
    }
    table.add(joined({{printable(task.workload), printable(task.scenario)},
                      figure,
                      {csv_number(task.reference), csv_number(task.ratio)},
                      quality_row(task),
                      {state_text(task), task.run ? printable(task.run->uuid) : "",
                       task.run ? printable(task.run->file) : "", csv_number(suite.score.value)},
                      identity}));
  }
  return table.text();
}

}  // namespace harness
