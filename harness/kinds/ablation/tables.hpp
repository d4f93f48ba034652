// An ablation as tables for other programs.
#pragma once

#include <string>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/report/text/csv.hpp"

namespace harness {

/// Rows of metric_table(), one for each variant that has a time: its median step.
void add_metric_rows(CsvTable& table, const Ablation& ablation, bool sound);
/// A row for each variant, with its ratios.
std::string variants_csv(const Ablation& ablation);

}  // namespace harness
