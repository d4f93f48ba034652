#include "harness/kinds/profile.hpp"

#include <nlohmann/json.hpp>

#include "harness/kinds/kind_with_run.hpp"
#include "harness/report/page/html_profile.hpp"
#include "harness/report/page/html_profile_pairs.hpp"
#include "harness/report/text/profile_summary.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/result/profile_consistency.hpp"
#include "harness/result/profile_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// Each brings thousands of operators.
constexpr std::size_t kMostProfiles = 20;

class ProfileKind : public KindWithRun<Profile> {
 public:
  ProfileKind() : KindWithRun("profile", kProfileSchemaVersion) {}

  json document_of(const ResultCommon& result) const override { return to_json(of(result)); }
  std::unique_ptr<ResultCommon> read(const json& document) const override {
    return std::make_unique<Profile>(profile_from_json(document));
  }
  std::vector<SchemaProblem> inconsistencies(const ResultCommon& result,
                                             const json& document) const override {
    return find_inconsistencies(of(result), document);
  }

  /// It is never as long as the rules ask of a measurement.
  std::vector<Violation> broken_rules(const Rules& /*rules*/, const ResultCommon& /*result*/,
                                      const json& /*document*/) const override {
    return {};
  }

  std::string plural() const override { return "profiles"; }
  std::string summary(const ResultCommon& result, std::size_t columns) const override {
    return render_summary(of(result), columns);
  }
  std::string table(const ResultCommon& result) const override {
    CsvTable table = metric_table();
    add_rows(table, result, true);
    return table.text();
  }
  ReportLine line(const ResultCommon& result, const ReportFile& file) const override {
    return line_of_profile(of(result), file);
  }
  std::size_t most_sections() const override { return kMostProfiles; }
  PageSection section(const ReportItem& item, const std::string& id) const override {
    return profile_section(item, id);
  }
  /// Of several the latest is opened: each is long.
  std::vector<PageSection> sections(const ReportData& data, PageSection all) const override {
    for (PageSection& part : all.parts) part.folded = &part != &all.parts.front();
    std::vector<PageSection> sections;
    sections.push_back(std::move(all));
    sections.push_back(profile_pairs_section(data));
    return sections;
  }
};

}  // namespace

std::unique_ptr<ResultKind> profile_kind() { return std::make_unique<ProfileKind>(); }

}  // namespace harness
