#include "harness/kinds/suite/kind.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/check/judged_kind.hpp"
#include "harness/kinds/suite/consistency.hpp"
#include "harness/kinds/suite/lines.hpp"
#include "harness/kinds/suite/rules_check.hpp"
#include "harness/kinds/suite/section.hpp"
#include "harness/kinds/suite/suite.hpp"
#include "harness/kinds/suite/suite_json.hpp"
#include "harness/kinds/suite/suite_rules.hpp"
#include "harness/kinds/suite/summary.hpp"
#include "harness/kinds/suite/tables.hpp"
#include "harness/report/shown_kind.hpp"

namespace harness {
namespace {

using nlohmann::json;

class SuiteKind : public ResultKindOf<Suite>, public JudgedKind, public ShownKind {
 public:
  SuiteKind() : ResultKindOf(kSuiteName, kSuiteSchemaVersion) {}

  json document_of(const ResultCommon& result) const override { return to_json(of(result)); }
  std::unique_ptr<ResultCommon> read(const json& document) const override {
    return std::make_unique<Suite>(suite_from_json(document));
  }
  std::vector<SchemaProblem> inconsistencies(const ResultCommon& result,
                                             const json& document) const override {
    return find_inconsistencies(of(result), document);
  }

  Rules rules_of(const ResultCommon& result) const override {
    return load_suite_rules(home_folder()).as_rules(result.rules.tier);
  }
  // Kernels and the checks behind a quality stand in the files of the runs, which are judged by
  // themselves.
  std::vector<PlacedKernels> kernels(const ResultCommon& /*result*/) const override { return {}; }
  std::vector<PlacedQuality> qualities(const ResultCommon& /*result*/) const override { return {}; }
  std::vector<Constraint> closed(const Rules& rules, const ResultCommon& result) const override {
    return closed_constraints(rules, of(result));
  }
  std::vector<Violation> broken_rules(const Rules& /*rules*/, const ResultCommon& result,
                                      const json& /*document*/) const override {
    return broken_runs(of(result));
  }

  std::vector<Violation> changed_beside(const ResultCommon& result,
                                        const std::filesystem::path& folder,
                                        std::vector<std::string>& notes) const override {
    return changed_runs(of(result), folder, notes);
  }

  std::string plural() const override { return "suites"; }
  std::string summary(const ResultCommon& result, std::size_t columns) const override {
    return render_summary(of(result), columns);
  }
  std::string table(const ResultCommon& result) const override { return tasks_csv(of(result)); }
  void add_rows(CsvTable& table, const ResultCommon& result, bool sound) const override {
    add_metric_rows(table, of(result), sound);
  }
  ReportLine line(const ResultCommon& result, const ReportFile& file) const override {
    return line_of_suite(of(result), file);
  }
  PageSection section(const ReportItem& item, const std::string& id) const override {
    return suite_section(item, id, {});
  }
  /// Of several the latest is opened.
  std::vector<PageSection> sections(const ReportData& data, PageSection all) const override {
    const std::vector<ReportItem>& suites = data.of(name());
    for (std::size_t i = 0; i < all.parts.size(); ++i) {
      PageSection& part = all.parts[i];
      const ReportItem& suite = suites[suites.size() - 1 - i];
      part = suite_section(suite, part.id, data.runs());  // now with what the runs say
      part.folded = i > 0;
      add_task_cards(part, as<Suite>(suite), data.runs());
    }
    std::vector<PageSection> sections;
    sections.push_back(std::move(all));
    return sections;
  }
  std::vector<PageFact> tiles(const ReportData& data) const override {
    return score_tiles(data.of(name()), data.runs());
  }
};

}  // namespace

std::unique_ptr<ResultKind> suite_kind() { return std::make_unique<SuiteKind>(); }

}  // namespace harness
