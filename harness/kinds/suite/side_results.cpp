#include "harness/kinds/suite/side_results.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/kinds/suite/measure.hpp"
#include "harness/kinds/suite/suite.hpp"
#include "harness/result/result_folder.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Whether it says that the quality was checked by golden data or tolerances that are not ours.
bool is_of_foreign_checks(const SchemaProblem& problem) {
  return problem.path.starts_with("/quality/checks") &&
         problem.reason.starts_with("breaks rule checks") && !problem.path.ends_with("/error") &&
         !problem.path.ends_with("/actual");
}

struct SuiteInFolder {
  fs::path file{};
  Suite suite{};
};

class SideFiles {
 public:
  explicit SideFiles(SideOf side) : side_(side) {}

  void add(const std::string& file) {
    CheckedFile checked = check_file(file);
    const auto* run = checked.report.as<Result>();
    std::string foreign_checks;
    if (side_ == SideOf::kCampaign) {
      std::erase_if(checked.report.problems, [&](const SchemaProblem& problem) {
        const bool foreign = is_of_foreign_checks(problem) && run != nullptr && run->quality;
        if (foreign) foreign_checks = problem_text(problem);
        return foreign || problem.path == "/workload/rules_sha256";
      });
    }
    require_sound(checked, ExitCode::kUsage);
    folders_.insert(fs::path(file).parent_path());
    if (checked.report.as<Suite>() != nullptr) {
      suites_.push_back({file, checked.report.take<Suite>()});
      return;
    }
    if (run == nullptr) {
      throw Error(printable(file), "is no result of a run or a suite", "leave it out");
    }
    runs_.push_back(checked.report.take<Result>());
    if (!foreign_checks.empty()) runs_.back().quality->foreign_checks = foreign_checks;
  }

  std::vector<Result> take(const fs::path& path) {
    if (side_ == SideOf::kCampaign || !of_campaigns()) refuse_stopped();
    for (const SuiteInFolder& one : suites_) require_runs(one);
    require_whole_series(path, runs_);
    return one_per_run(std::move(runs_));
  }

 private:
  bool of_campaigns() const {
    return std::all_of(runs_.begin(), runs_.end(),
                       [](const Result& run) { return run.identity.campaign.has_value(); });
  }

  void refuse_stopped() const {
    std::set<fs::path> ended;
    for (const SuiteInFolder& one : suites_) {
      if (!was_stopped(one.suite.status)) ended.insert(one.file.parent_path());
    }
    for (const fs::path& folder : folders_) {
      const bool stopped = std::any_of(suites_.begin(), suites_.end(), [&](const auto& one) {
        return one.file.parent_path() == folder && was_stopped(one.suite.status);
      });
      // One that was killed left no file of its own.
      const bool killed = has_unfinished_series(folder, kSuiteForm) && !ended.contains(folder);
      if (!stopped && !killed) continue;
      throw Error(printable(folder.string()), "the suite there was stopped before its end",
                  "go on with it: " + started_as() + " suite --resume " +
                      pasted_word(printable(folder.string(), 4096)));
    }
  }

  /// Whoever leaves some out can choose the outcome.
  void require_runs(const SuiteInFolder& one) const {
    for (const SuiteTask& task : one.suite.tasks) {
      const bool there = !task.run || std::any_of(runs_.begin(), runs_.end(), [&](const auto& run) {
        return run.identity.uuid == task.run->uuid;
      });
      if (there) continue;
      throw Error(printable(one.file.string()),
                  "its run of " + printable(name_of(task)) + " is not there",
                  "a suite is judged as a whole: add " + printable(task.run->file));
    }
  }

  SideOf side_;
  std::vector<Result> runs_{};
  std::vector<SuiteInFolder> suites_{};
  std::set<fs::path> folders_{};
};

}  // namespace

std::vector<Result> side_results(const fs::path& path, SideOf side) {
  SideFiles files(side);
  for (const std::string& file : result_files({path.string()})) files.add(file);
  return files.take(path);
}

}  // namespace harness
