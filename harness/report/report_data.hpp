// The results that a report is about, as they come from their files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/gate/report.hpp"
#include "harness/report/thinning.hpp"
#include "harness/result/validate.hpp"

namespace harness {

class ShownKind;

/// Bytes of a note that are shown: one may hold a line to paste, which is whole or of no use.
inline constexpr std::size_t kLongestNote = 9000;

/// What stood in a file, apart from its result.
struct ReportFile {
  std::string name{};
  std::string summary{};
  ExitCode code = ExitCode::kOk;  ///< of the file's own problems
  std::vector<SchemaProblem> problems{};
  std::vector<std::string> notes{};
};

/// A result, as it is shown.
struct ReportItem {
  ReportFile file{};
  std::shared_ptr<const ResultCommon> result{};
  const ShownKind* kind = nullptr;
  // What a kind keeps of samples that it does not:
  std::vector<ThinSamples> samples{};   ///< of each metric
  std::vector<Histogram> histograms{};  ///< of each metric
};

/// Precondition: `item` holds a T.
template <class T>
const T& as(const ReportItem& item) {
  return static_cast<const T&>(*item.result);
}

/// All results of a kind that can be shown, none of them also.
struct ReportGroup {
  std::string name{};  ///< the kind's
  const ShownKind* kind = nullptr;
  std::vector<ReportItem> items{};  ///< by their start
};

/// A campaign of the gate, by its folder.
struct ReportCampaign {
  std::string folder{};
  GateReport report{};
  bool ended = true;  ///< else `report` is how far it came, and no verdict
};

struct ReportData {
  std::vector<ReportGroup> groups{};        ///< in the order of the kinds
  std::vector<ReportCampaign> campaigns{};  ///< in the order in which they were given
  std::vector<ReportFile> rejected{};       ///< of no form that a result could be read from
  std::vector<ReportFile> skipped{};        ///< no results, or there before

  /// The results of the kind `name`.
  const std::vector<ReportItem>& of(std::string_view name) const;
  const std::vector<ReportItem>& runs() const { return of("run"); }
  /// Whether there is nothing to show: no result, no campaign, and no file that at least claims to
  /// be one.
  bool empty() const;
  /// Whether any file could not be read or was damaged (kUsage), broke its schema or its rules
  /// (kInvalid), or neither.
  ExitCode code() const;
};

/// Calls `visit` with each result, kind by kind.
template <class Visit>
void for_each_result(const ReportData& data, const Visit& visit) {
  for (const ReportGroup& group : data.groups) {
    for (const ReportItem& item : group.items) visit(item);
  }
}

/// Takes one file after another, so that of each no more is kept than the report shows.
class ReportCollector {
 public:
  ReportCollector();
  /// `report` is what was found in the file `name`, `notes` what could not be checked of it. What
  /// is not shown is taken out of its result.
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
