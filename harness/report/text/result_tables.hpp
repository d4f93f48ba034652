// Results as tables for other programs: rows that say whose they are, so that those of many files
// can stand in one table.
#pragma once

#include <span>
#include <string>

#include "harness/report/text/csv.hpp"
#include "harness/result/ablation.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// An empty table with a column for each part of a metric's summary, and for each part of what
/// tells one run from another.
CsvTable metric_table();
/// A row for each metric. `kind` is "run" or "profile"; `sound` is whether the file is.
void add_metric_rows(CsvTable& table, const Result& result, const std::string& kind, bool sound);
/// A row for each variant that has a time: its median step.
void add_metric_rows(CsvTable& table, const Ablation& ablation, bool sound);

/// A row for each metric of each run.
std::string metrics_csv(std::span<const Result> runs);
/// A row for each variant, with its ratios.
std::string variants_csv(const Ablation& ablation);

}  // namespace harness
