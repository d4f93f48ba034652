// A table of comma-separated values taken apart.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/text.hpp"

namespace harness {

/// Rows of cells; of values without commas in them.
inline std::vector<std::vector<std::string>> cells(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(csv, '\n')) {
    if (!line.empty()) rows.push_back(split(line, ','));
  }
  return rows;
}

/// Of the column named so in the first row.
inline std::string cell(const std::vector<std::vector<std::string>>& rows, std::size_t row,
                        const std::string& column) {
  for (std::size_t i = 0; i < rows.at(0).size(); ++i) {
    if (rows[0][i] == column) return rows.at(row).at(i);
  }
  return "no column " + column;
}

}  // namespace harness
