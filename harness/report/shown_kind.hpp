// What has to be known of a kind of result to show it: as lines of text, as a table, on the page.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/text/csv.hpp"
#include "harness/result/result_common.hpp"

namespace harness {

/// Most results of a kind that are shown one by one; the tables hold more.
inline constexpr std::size_t kMostDetailed = 100;

/// Implemented by kinds of result; `result` and `item` are always of the kind.
class ShownKind {
 public:
  virtual ~ShownKind() = default;

  /// "runs": several of them, in letters that an id may have.
  virtual std::string plural() const = 0;
  /// For a terminal of `columns`, from 80 on; ends with a newline.
  virtual std::string summary(const ResultCommon& result, std::size_t columns) const = 0;
  /// Of this result alone, as CSV.
  virtual std::string table(const ResultCommon& result) const = 0;
  /// Its rows of metric_table(), where results of all kinds stand together.
  virtual void add_rows(CsvTable& table, const ResultCommon& result, bool sound) const = 0;
  virtual ReportLine line(const ResultCommon& result, const ReportFile& file) const = 0;

  /// Takes out of `result` what is not shown, before it becomes `item`'s: a report may be of
  /// thousands.
  virtual void thin(ResultCommon& /*result*/, ReportItem& /*item*/) const {}
  /// Figures for the top of the page, beside how many of the kind there are.
  virtual std::vector<PageFact> tiles(const ReportData& /*data*/) const { return {}; }
  /// So many of the latest have a section of their own.
  virtual std::size_t most_sections() const { return kMostDetailed; }
  virtual PageSection section(const ReportItem& item, const std::string& id) const = 0;
  /// All sections of the kind, in order: `all` has those of section(), latest first.
  virtual std::vector<PageSection> sections(const ReportData& /*data*/, PageSection all) const {
    std::vector<PageSection> sections;
    sections.push_back(std::move(all));
    return sections;
  }
};

/// Null where the kind of `result` cannot be shown.
const ShownKind* shown_kind_of(const ResultCommon& result);

}  // namespace harness
