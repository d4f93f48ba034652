// A suite's result as tables for other programs.
#pragma once

#include <string>

#include "harness/kinds/suite/suite.hpp"
#include "harness/report/text/csv.hpp"

namespace harness {

/// Rows of metric_table(): the figure of each task, then the score.
void add_metric_rows(CsvTable& table, const Suite& suite, bool sound);

/// A row for each task and scenario.
std::string tasks_csv(const Suite& suite);

}  // namespace harness
