#include "harness/report/report_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.hpp"

namespace harness {
namespace {

/// JSON that is a file of something else: a schema, a package's description.
bool is_no_result(const ValidationReport& report) {
  return report.common() == nullptr && !report.problems.empty() &&
         (report.problems.front().path == "/kind" ||
          report.problems.front().reason.starts_with("not an object"));
}

template <class Kind>
void sort_by_start(std::vector<Kind>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Kind& a, const Kind& b) {
    const auto key = [](const Kind& one) {
      return std::pair(one.result.identity.started_at, one.result.identity.run_index);
    };
    return key(a) < key(b);
  });
}

/// Metrics with as many samples as are drawn. Of training all are kept, an epoch each: convergence
/// is told by them.
void thin_run(ReportRun& run) {
  constexpr std::size_t kMostEpochs = 10000;
  for (Metric& metric : run.result.metrics) {
    run.histograms.push_back(histogram_of(metric.samples));
    run.samples.push_back(thin(metric.samples));
    if (!run.result.training || metric.samples.size() > kMostEpochs) {
      std::vector<Sample>().swap(metric.samples);
    }
  }
}

}  // namespace

bool ReportData::empty() const {
  return runs.empty() && ablations.empty() && profiles.empty() && campaigns.empty() &&
         std::none_of(rejected.begin(), rejected.end(),
                      [](const ReportFile& file) { return file.code == ExitCode::kInvalid; });
}

ExitCode ReportData::code() const {
  bool invalid = false;
  bool unreadable = false;
  const auto look = [&](const ReportFile& file) {
    unreadable = unreadable || file.code == ExitCode::kUsage;
    invalid = invalid || file.code == ExitCode::kInvalid;
  };
  for (const ReportRun& run : runs) look(run.file);
  for (const ReportAblation& ablation : ablations) look(ablation.file);
  for (const ReportProfile& profile : profiles) look(profile.file);
  for (const ReportFile& file : rejected) look(file);
  if (unreadable) return ExitCode::kUsage;
  return invalid ? ExitCode::kInvalid : ExitCode::kOk;
}

// A file with problems of its own never hides a sound one that claims to be the same run.
bool ReportCollector::seen_before(const std::string& uuid, ReportFile& file) {
  if (file.code != ExitCode::kOk) return false;
  const auto [known, is_new] = files_by_uuid_.emplace(uuid, file.name);
  if (is_new) return false;
  file.notes.insert(file.notes.begin(), "the same run as in " + printable(known->second));
  data_.skipped.push_back(std::move(file));
  return true;
}

void ReportCollector::add(const std::string& name, ValidationReport report,
                          std::vector<std::string> notes) {
  if (is_no_result(report)) return skip(name, report.problems.front().reason);
  ReportFile file{name, report.summary, report.problems_code, std::move(report.problems),
                  std::move(notes)};
  if (report.result) {
    if (seen_before(report.result->identity.uuid, file)) return;
    ReportRun& run = data_.runs.emplace_back();
    run.file = std::move(file);
    run.result = std::move(*report.result);
    thin_run(run);
  } else if (report.ablation) {
    if (seen_before(report.ablation->identity.uuid, file)) return;
    data_.ablations.push_back({std::move(file), std::move(*report.ablation)});
  } else if (report.profile) {
    if (seen_before(report.profile->identity.uuid, file)) return;
    data_.profiles.push_back({std::move(file), std::move(*report.profile)});
  } else {
    data_.rejected.push_back(std::move(file));
  }
}

void ReportCollector::skip(const std::string& name, const std::string& why) {
  data_.skipped.push_back({name, "skipped", ExitCode::kOk, {}, {why}});
}

ReportData ReportCollector::finish() {
  sort_by_start(data_.runs);
  sort_by_start(data_.ablations);
  sort_by_start(data_.profiles);
  return std::move(data_);
}

}  // namespace harness
