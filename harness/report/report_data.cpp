#include "harness/report/report_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/report/shown_kind.hpp"
#include "harness/result/kind.hpp"

namespace harness {
namespace {

/// JSON that is a file of something else: a schema, a package's description.
bool is_no_result(const ValidationReport& report) {
  return report.result == nullptr && !report.problems.empty() &&
         (report.problems.front().path == "/kind" ||
          report.problems.front().reason.starts_with("not an object"));
}

void sort_by_start(std::vector<ReportItem>& list) {
  std::stable_sort(list.begin(), list.end(), [](const ReportItem& a, const ReportItem& b) {
    const auto key = [](const ReportItem& one) {
      return std::pair(one.result->identity.started_at, one.result->identity.run_index);
    };
    return key(a) < key(b);
  });
}

}  // namespace

const std::vector<ReportItem>& ReportData::of(std::string_view name) const {
  static const std::vector<ReportItem> none;
  for (const ReportGroup& group : groups) {
    if (group.name == name) return group.items;
  }
  return none;
}

bool ReportData::empty() const {
  return campaigns.empty() &&
         std::all_of(groups.begin(), groups.end(),
                     [](const ReportGroup& group) { return group.items.empty(); }) &&
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
  for_each_result(*this, [&](const ReportItem& item) { look(item.file); });
  for (const ReportFile& file : rejected) look(file);
  if (unreadable) return ExitCode::kUsage;
  return invalid ? ExitCode::kInvalid : ExitCode::kOk;
}

ReportCollector::ReportCollector() {
  for (const auto& kind : result_kinds()) {
    const auto* shown = dynamic_cast<const ShownKind*>(kind.get());
    if (shown != nullptr) data_.groups.push_back({kind->name(), shown, {}});
  }
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
  if (report.result == nullptr) {
    data_.rejected.push_back(std::move(file));
    return;
  }
  const auto* kind = dynamic_cast<const ShownKind*>(report.kind);
  if (kind == nullptr) {
    file.notes.insert(file.notes.begin(), "of a kind that is not shown: " + report.kind->name());
    auto& place = file.code == ExitCode::kOk ? data_.skipped : data_.rejected;
    place.push_back(std::move(file));
    return;
  }
  if (seen_before(report.result->identity.uuid, file)) return;
  ReportItem item{std::move(file), nullptr, kind, {}, {}};
  kind->thin(*report.result, item);
  item.result = std::move(report.result);
  for (ReportGroup& group : data_.groups) {
    if (group.kind == kind) return group.items.push_back(std::move(item));
  }
}

void ReportCollector::skip(const std::string& name, const std::string& why) {
  data_.skipped.push_back({name, "skipped", ExitCode::kOk, {}, {why}});
}

ReportData ReportCollector::finish() {
  for (ReportGroup& group : data_.groups) sort_by_start(group.items);
  return std::move(data_);
}

}  // namespace harness
