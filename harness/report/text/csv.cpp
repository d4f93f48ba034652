#include "harness/report/text/csv.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace harness {
namespace {

std::string quoted(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + "\"";
}

}  // namespace

CsvTable::CsvTable(const std::vector<std::string>& columns) : columns_(columns.size()) {
  append(columns);
}

void CsvTable::add(const std::vector<std::string>& row) {
  if (row.size() != columns_) {
    throw std::logic_error(
        fmt::format("a row of {} values in a table of {} columns", row.size(), columns_));
  }
  append(row);
}

void CsvTable::append(const std::vector<std::string>& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) text_ += ',';
    text_ += quoted(row[i]);
  }
  text_ += '\n';
}

std::string csv_number(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : std::string();
}

void append_interval(std::vector<std::string>& row, const std::optional<Interval>& interval) {
  const bool bounded = interval && interval->low && interval->high;
  row.push_back(interval ? csv_number(interval->center) : "");
  row.push_back(bounded ? csv_number(interval->low) : "");
  row.push_back(bounded ? csv_number(interval->high) : "");
  row.push_back(bounded ? csv_number(interval->confidence) : "");
}

}  // namespace harness
