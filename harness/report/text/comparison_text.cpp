#include "harness/report/text/comparison_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/compare/comparison.hpp"
#include "harness/report/text/columns.hpp"
#include "harness/report/text/csv.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kColumns = 100;

/// A, B, ... Z, AA, ...
std::string letter(std::size_t index) {
  std::string text;
  for (std::size_t i = index + 1; i > 0; i = (i - 1) / 26) {
    text.insert(text.begin(), static_cast<char>('A' + (i - 1) % 26));
  }
  return text;
}

std::string number(double value, const std::string& unit, bool is_factor) {
  if (is_factor || unit == "1") return fmt::format("{:.4g}", value);
  return format_quantity(value, unit);
}

std::string interval_text(const Interval& interval, const std::string& unit, bool is_factor) {
  if (!interval.low || !interval.high) return "";
  return fmt::format(" [{}, {}]", number(*interval.low, unit, is_factor),
                     number(*interval.high, unit, is_factor));
}

void add_row(std::string& text, const ComparedRow& row) {
  text += printable(row.name, 60) + "\n";
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    std::string line = fmt::format("  {:<3}", letter(i));
    const auto& value = row.values[i];
    const std::string center = value ? number(value->center, row.unit, false) : "none";
    const std::string interval = value ? interval_text(*value, row.unit, false) : "";
    line += fmt::format("{:>14}{:<26}  ", center, interval);
    if (i < row.changes.size() && row.changes[i]) {
      const Interval& change = *row.changes[i];
      const char* between = row.is_factor ? "/" : "-";
      line += fmt::format(
          "{}{}A {}{}: {}", letter(i), between, number(change.center, row.unit, row.is_factor),
          interval_text(change, row.unit, row.is_factor), change_word(change, row.is_factor));
    }
    const auto note = row.notes.find(i);
    if (note != row.notes.end()) line += "  " + note->second;
    while (line.ends_with(' ')) line.pop_back();
    text += wrap(line, kColumns, 10) + "\n";
  }
}

json bounds(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"center", interval->center},
          {"low", or_null(interval->low)},
          {"high", or_null(interval->high)},
          {"confidence", interval->confidence}};
}

json rows_json(const std::vector<ComparedRow>& rows) {
  json list = json::array();
  for (const ComparedRow& row : rows) {
    json notes = json::object();
    for (const auto& [side, note] : row.notes) notes[letter(side)] = note;
    list.push_back({{"name", row.name},
                    {"unit", row.unit},
                    {"values", list_json(row.values, bounds)},
                    {"changes", list_json(row.changes, bounds)},
                    {"change_is", row.is_factor ? "factor" : "difference"},
                    {"notes", notes}});
  }
  return list;
}

}  // namespace

std::string change_word(const Interval& change, bool is_factor) {
  if (!change.low || !change.high) return "no verdict";
  const double none = is_factor ? 1 : 0;
  return *change.low > none || *change.high < none ? "differs" : "no difference seen";
}

std::string render_comparison(const Comparison& comparison) {
  std::string text = comparison.workload + "\n\n";
  for (std::size_t i = 0; i < comparison.names.size(); ++i) {
    text +=
        fmt::format("  {:<3}{}  ({} in {}{}{})\n", letter(i), cut_middle(comparison.names[i], 80),
                    format_count(static_cast<long long>(comparison.runs[i]), "run"),
                    format_count(static_cast<long long>(comparison.hours[i]), "hour"),
                    comparison.doubts[i].empty() ? "" : ": ", comparison.doubts[i]);
  }
  text += "\ndiffers between them\n";
  if (comparison.differences.empty()) text += "  nothing but the seeds\n";
  for (const auto& [name, values] : comparison.differences) {
    std::string line = fmt::format("  {:<18}", printable(name, 40));
    for (std::size_t i = 0; i < values.size(); ++i) {
      line += fmt::format(" {} {}{}", letter(i), values[i], i + 1 < values.size() ? " ·" : "");
    }
    text += wrap(line, kColumns, 21) + "\n";
  }
  if (!comparison.convergence.empty()) {
    text += "\nCONVERGENCE (median over the seeds [95 % interval]; of times over the hours)\n";
    for (const ComparedRow& row : comparison.convergence) add_row(text, row);
  }
  text += "\nPERFORMANCE (median over the hours [95 % interval])\n";
  for (const ComparedRow& row : comparison.rows) add_row(text, row);
  for (const std::string& note : comparison.notes) {
    text += "\n" + wrap("note: " + note, kColumns, 0) + "\n";
  }
  if (!comparison.missing.empty()) text += "\n" + wrap(comparison.missing, kColumns, 0) + "\n";
  text += fmt::format("{}\n", kUnverifiedNotice);
  return text;
}

std::string comparison_csv(const Comparison& comparison) {
  CsvTable table({"name", "unit", "side", "path", "runs", "hours", "median", "low", "high",
                  "confidence", "change_is", "change", "change_low", "change_high",
                  "change_confidence", "verdict", "note", "section", "workload"});
  const auto add = [&](const ComparedRow& row, const char* section) {
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const auto change = i < row.changes.size() ? row.changes[i] : std::nullopt;
      const auto note = row.notes.find(i);
      std::vector<std::string> line = {printable(row.name),
                                       printable(row.unit),
                                       letter(i),
                                       printable(comparison.names[i], 4096),
                                       std::to_string(comparison.runs[i]),
                                       std::to_string(comparison.hours[i])};
      append_interval(line, row.values[i]);
      line.push_back(row.is_factor ? "factor" : "difference");
      append_interval(line, change);
      line.push_back(change ? change_word(*change, row.is_factor) : "");
      line.push_back(note == row.notes.end() ? "" : note->second);
      line.push_back(section);
      line.push_back(printable(comparison.workload));
      table.add(line);
    }
  };
  for (const ComparedRow& row : comparison.convergence) add(row, "convergence");
  for (const ComparedRow& row : comparison.rows) add(row, "performance");
  return table.text();
}

json to_json(const Comparison& comparison) {
  return {{"workload", comparison.workload},
          {"sides", comparison.names},
          {"runs", comparison.runs},
          {"hours", comparison.hours},
          {"no_verdict", comparison.missing},
          {"notes", comparison.notes},
          {"doubts", comparison.doubts},
          {"differences", comparison.differences},
          {"convergence", rows_json(comparison.convergence)},
          {"performance", rows_json(comparison.rows)},
          {"notice", kUnverifiedNotice}};
}

}  // namespace harness
