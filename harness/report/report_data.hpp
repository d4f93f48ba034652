// The results that a report is about, as they come from their files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/gate/report.hpp"
#include "harness/report/thinning.hpp"
#include "harness/result/validate.hpp"

namespace harness {

/// What stood in a file, apart from its result.
struct ReportFile {
  std::string name{};
  std::string summary{};
  ExitCode code = ExitCode::kOk;  ///< of the file's own problems
  std::vector<SchemaProblem> problems{};
  std::vector<std::string> notes{};
};

/// A run, with no more samples than are drawn.
struct ReportRun {
  ReportFile file{};
  Result result{};
  std::vector<ThinSamples> samples{};   ///< of each metric of `result`
  std::vector<Histogram> histograms{};  ///< of each metric of `result`
};

struct ReportAblation {
  ReportFile file{};
  Ablation result{};
};

struct ReportProfile {
  ReportFile file{};
  Profile result{};
};

/// A campaign of the gate, by its folder.
struct ReportCampaign {
  std::string folder{};
  GateReport report{};
  bool ended = true;  ///< else `report` is how far it came, and no verdict
};

struct ReportData {
  std::vector<ReportRun> runs{};            ///< by their start
  std::vector<ReportAblation> ablations{};  ///< by their start
  std::vector<ReportProfile> profiles{};    ///< by their start
  std::vector<ReportCampaign> campaigns{};  ///< in the order in which they were given
  std::vector<ReportFile> rejected{};       ///< of no form that a result could be read from
  std::vector<ReportFile> skipped{};        ///< no results, or there before

  /// Whether there is nothing to show: no result, no campaign, and no file that at least claims to
  /// be one.
  bool empty() const;
  /// Whether any file could not be read or was damaged (kUsage), broke its schema or its rules
  /// (kInvalid), or neither.
  ExitCode code() const;
};

/// Calls `visit` with each run, then each ablation, then each profile.
template <class Visit>
void for_each_result(const ReportData& data, const Visit& visit) {
  for (const ReportRun& run : data.runs) visit(run);
  for (const ReportAblation& ablation : data.ablations) visit(ablation);
  for (const ReportProfile& profile : data.profiles) visit(profile);
}

/// Takes one file after another, so that of each no more is kept than the report shows.
class ReportCollector {
 public:
  /// `report` is what was found in the file `name`, `notes` what could not be checked of it.
  void add(const std::string& name, ValidationReport report, std::vector<std::string> notes);
  /// A file that is left out, and why.
  void skip(const std::string& name, const std::string& why);
  /// All of it, in order; the collector is used up.
  ReportData finish();

 private:
  bool seen_before(const std::string& uuid, ReportFile& file);

  ReportData data_{};
  std::map<std::string, std::string> files_by_uuid_{};
};

}  // namespace harness
