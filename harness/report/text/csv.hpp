// Tables as comma-separated values, for spreadsheets and scripts: quoted as RFC 4180 has it, lines
// end in a newline alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"

namespace harness {

class CsvTable {
 public:
  explicit CsvTable(const std::vector<std::string>& columns);

  /// One value for each column. Throws std::logic_error for more or fewer.
  void add(const std::vector<std::string>& row);
  /// The names of the columns and all rows.
  const std::string& text() const { return text_; }

 private:
  void append(const std::vector<std::string>& row);

  std::size_t columns_;
  std::string text_;
};

/// As short as it can be read back exactly; empty for a value that is missing.
std::string csv_number(std::optional<double> value);

/// Adds center, low, high and confidence, each empty where it is missing.
void append_interval(std::vector<std::string>& row, const std::optional<Interval>& interval);

}  // namespace harness
