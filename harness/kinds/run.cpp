#include "harness/kinds/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/kinds/kind_with_run.hpp"
#include "harness/report/page/html_history.hpp"
#include "harness/report/page/html_runs.hpp"
#include "harness/report/page/html_series.hpp"
#include "harness/report/page/html_training.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/report/text/summary.hpp"
#include "harness/result/consistency.hpp"
#include "harness/result/result_json.hpp"
#include "harness/scenario/scenario.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// With more of them the page would no longer show at a glance what it holds.
constexpr std::size_t kMostOpenRuns = 2;
/// Of training all samples are kept, an epoch each: convergence is told by them.
constexpr std::size_t kMostEpochs = 10000;

/// Of LoadGen's logs.
std::vector<Violation> changed_logs(const Result& result, const std::filesystem::path& folder) {
  std::vector<Violation> changed;
  if (!result.loadgen) return changed;
  const std::vector<FileHash>& files = result.loadgen->files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::filesystem::path named = files[i].file;
    const bool outside =
        named.is_absolute() || std::find(named.begin(), named.end(), "..") != named.end();
    std::error_code ignored;
    const std::filesystem::path file = folder / named;
    if (outside || !std::filesystem::is_regular_file(file, ignored)) continue;
    const std::string found = sha256_of_file(file);
    if (found == files[i].sha256) continue;
    changed.push_back(
        {"files", fmt::format("/loadgen/files/{}/sha256", i),
         fmt::format("{} of {}, which was changed since", found, printable(named.string(), 200)),
         printable(files[i].sha256, 64), ""});
  }
  return changed;
}

class RunKind : public KindWithRun<Result> {
 public:
  RunKind() : KindWithRun("run", kResultSchemaVersion) {}

  json document_of(const ResultCommon& result) const override { return to_json(of(result)); }
  std::unique_ptr<ResultCommon> read(const json& document) const override {
    return std::make_unique<Result>(result_from_json(document));
  }
  std::vector<SchemaProblem> inconsistencies(const ResultCommon& result,
                                             const json& document) const override {
    return find_inconsistencies(of(result), document);
  }

  std::vector<Violation> broken_rules(const Rules& rules, const ResultCommon& result,
                                      const json& document) const override {
    const Scenario& scenario = find_scenario(result.rules.scenario);
    std::vector<Violation> violations = check_rules(rules, scenario.info(), of(result), document);
    const auto tier = rules.tiers.find(result.rules.tier);
    if (tier == rules.tiers.end()) return violations;
    const Tier& driven = tier->second.in_scenario(scenario.info().name);
    const std::vector<Violation> own = scenario.broken_rules(driven, of(result));
    violations.insert(violations.end(), own.begin(), own.end());
    return violations;
  }

  std::vector<Violation> changed_beside(const ResultCommon& result,
                                        const std::filesystem::path& folder,
                                        std::vector<std::string>& /*notes*/) const override {
    return changed_logs(of(result), folder);
  }

  std::string plural() const override { return "runs"; }
  std::string summary(const ResultCommon& result, std::size_t /*columns*/) const override {
    return render_summary(of(result));
  }
  std::string table(const ResultCommon& result) const override {
    return metrics_csv({&of(result), 1});
  }
  ReportLine line(const ResultCommon& result, const ReportFile& file) const override {
    return line_of_run(of(result), file);
  }
  /// Leaves as many samples as are drawn.
  void thin(ResultCommon& result, ReportItem& item) const override {
    auto& run = static_cast<Result&>(result);
    for (Metric& metric : run.metrics) {
      item.histograms.push_back(histogram_of(metric.samples));
      item.samples.push_back(harness::thin(metric.samples));
      if (!run.training || metric.samples.size() > kMostEpochs) {
        std::vector<Sample>().swap(metric.samples);
      }
    }
  }
  PageSection section(const ReportItem& item, const std::string& id) const override {
    return run_section(item, id);
  }
  std::vector<PageSection> sections(const ReportData& data, PageSection all) const override {
    for (PageSection& part : all.parts) part.open = data.runs().size() <= kMostOpenRuns;
    std::vector<PageSection> sections = {training_section(data), series_section(data),
                                         history_section(data)};
    sections.push_back(std::move(all));
    return sections;
  }
};

}  // namespace

std::unique_ptr<ResultKind> run_kind() { return std::make_unique<RunKind>(); }

}  // namespace harness
