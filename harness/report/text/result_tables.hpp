// Results as tables for other programs: rows that say whose they are, so that those of many files
// can stand in one table.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "harness/report/text/csv.hpp"
#include "harness/result/result.hpp"

namespace harness {

using CsvRow = std::vector<std::string>;

// The columns of metric_table(), and tables of a kind's own: a metric, the stack that it is of,
// whose it is.
const CsvRow& metric_columns();
const CsvRow& stack_columns();
const CsvRow& identity_columns();
/// Values of stack_columns(); `kernels` as --kernels takes them.
CsvRow stack_row(const std::string& variant, const std::string& precision,
                 const std::string& allocator, const KernelSet& kernels);
/// Values of identity_columns(); `sound` is whether the file is.
CsvRow identity_row(const ResultCommon& result, const std::string& kind, bool sound);
/// One after another.
CsvRow joined(std::initializer_list<CsvRow> parts);
/// "yes", "no".
std::string yes_no(bool value);

/// An empty table with a column for each part of a metric's summary, and for each part of what
/// tells one run from another.
CsvTable metric_table();
/// A row for each metric. `kind` is that of the file, `sound` whether the file is.
void add_metric_rows(CsvTable& table, const Result& result, const std::string& kind, bool sound);

/// A row for each metric of each run.
std::string metrics_csv(std::span<const Result> runs);

}  // namespace harness
