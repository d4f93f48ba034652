#include "harness/kinds/ablation/kind.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/check/judged_kind.hpp"
#include "harness/kinds/ablation/ablation.hpp"
#include "harness/kinds/ablation/ablation_json.hpp"
#include "harness/kinds/ablation/consistency.hpp"
#include "harness/kinds/ablation/lines.hpp"
#include "harness/kinds/ablation/rules_check.hpp"
#include "harness/kinds/ablation/section.hpp"
#include "harness/kinds/ablation/summary.hpp"
#include "harness/kinds/ablation/tables.hpp"
#include "harness/report/shown_kind.hpp"

namespace harness {
namespace {

using nlohmann::json;

class AblationKind : public ResultKindOf<Ablation>, public JudgedKind, public ShownKind {
 public:
  AblationKind() : ResultKindOf("ablation", kAblationSchemaVersion) {}

  json document_of(const ResultCommon& result) const override { return to_json(of(result)); }
  std::unique_ptr<ResultCommon> read(const json& document) const override {
    return std::make_unique<Ablation>(ablation_from_json(document));
  }
  std::vector<SchemaProblem> inconsistencies(const ResultCommon& result,
                                             const json& document) const override {
    return find_inconsistencies(of(result), document);
  }

  std::vector<PlacedKernels> kernels(const ResultCommon& result) const override {
    std::vector<PlacedKernels> sets;
    const std::vector<Variant>& variants = of(result).variants;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (variants[i].peer) continue;
      sets.push_back(
          {&variants[i].settings.kernels, fmt::format("/variants/{}/settings/kernels", i)});
    }
    return sets;
  }
  std::vector<PlacedQuality> qualities(const ResultCommon& result) const override {
    std::vector<PlacedQuality> all;
    const std::vector<Variant>& variants = of(result).variants;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (!variants[i].quality) continue;
      all.push_back({&*variants[i].quality, variants[i].settings.of("precision"),
                     fmt::format("/variants/{}/quality", i)});
    }
    return all;
  }
  std::vector<Constraint> closed(const Rules& rules, const ResultCommon& result) const override {
    return shared_constraints(rules.closed, of(result));
  }
  std::vector<Violation> broken_rules(const Rules& rules, const ResultCommon& result,
                                      const json& document) const override {
    return check_rules(rules, of(result), document);
  }

  std::string plural() const override { return "ablations"; }
  std::string summary(const ResultCommon& result, std::size_t /*columns*/) const override {
    return render_summary(of(result));
  }
  std::string table(const ResultCommon& result) const override { return variants_csv(of(result)); }
  void add_rows(CsvTable& table, const ResultCommon& result, bool sound) const override {
    add_metric_rows(table, of(result), sound);
  }
  ReportLine line(const ResultCommon& result, const ReportFile& file) const override {
    return line_of_ablation(of(result), file);
  }
  PageSection section(const ReportItem& item, const std::string& id) const override {
    return ablation_section(item, id);
  }
};

}  // namespace

std::unique_ptr<ResultKind> ablation_kind() { return std::make_unique<AblationKind>(); }

}  // namespace harness
