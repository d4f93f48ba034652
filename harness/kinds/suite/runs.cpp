#include "harness/kinds/suite/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/name_generator.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/base/utc.hpp"
#include "harness/measure/run_files.hpp"
#include "harness/plan/set_up_choices.hpp"
#include "harness/result/setting.hpp"
#include "harness/result/validate.hpp"
#include "harness/system/capture.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

// LoadGen's own logs lie in a folder.
constexpr const char* kLeftBehind[] = {".json", ".jsonl", ".log", ".loadgen"};

/// Empty for a file that is no sound run, after saying so.
std::optional<RunFile> read_run(const fs::path& path) {
  ValidationReport report;
  RunFile file{path, "", {}};
  try {
    const nlohmann::json document = read_result_document(path);
    report = validate_result(document);
    file.digest = text_member(document, "digest");
  } catch (const Error& error) {
    report = report_unreadable(error);
  }
  if (report.problems.empty() && report.as<Result>() != nullptr) {
    file.run = report.take<Result>();
    return file;
  }
  print_err(
      fmt::format("harness: {}: passed over: {}\n", printable(path.string()),
                  report.problems.empty() ? "is no run" : problem_text(report.problems.front())));
  return std::nullopt;
}

std::vector<RunFile> all_results(const fs::path& out, const SuiteRunPlan& run,
                                 const std::string& series_id) {
  std::vector<RunFile> all;
  for (const fs::path& path : files_of_run(out, first_stem(run.workload, 1, series_id), ".json")) {
    std::optional<RunFile> file = read_run(path);
    if (file && file->run.identity.series_id == series_id) all.push_back(std::move(*file));
  }
  return all;
}

/// What the task's rules froze, if it was on the data of `run`.
std::optional<double> frozen_for(const SuiteRunPlan& plan, const Result& run) {
  const auto& rule = plan.plan.rules.quality;
  if (!rule || !rule->fp32 || !run.dataset) return std::nullopt;
  if (run.dataset->sha256 != rule->fp32->data_sha256) return std::nullopt;
  return rule->fp32->value;
}

/// Whether `run` was measured as `plan` says. Lengths and draws are the rules' own.
bool is_as_planned(const Result& run, const RunPlan& plan, const std::string& machine) {
  if (run.rules.sha256 != plan.rules.sha256 || run.kernels != plan.context.kernels) return false;
  if (system_fingerprint(run.system) != machine) return false;
  const SetUpChoices choices = set_up_choices(plan);
  for (const auto& [name, value] : plan.effective.items()) {
    if (choices.leaves(name)) continue;
    const Setting* setting = SettingTable::instance().find(name);
    if (setting != nullptr && setting->part == SetUpPart::kExempt) continue;
    if (run.settings.effective.value(name, nlohmann::json()) != value) return false;
  }
  return true;
}

}  // namespace

std::string series_of(const std::string& suite_id, const SuiteRunPlan& run, int attempt) {
  const boost::uuids::name_generator_sha1 within(boost::uuids::string_generator()(suite_id));
  return to_string(within(fmt::format("{}/{}/{}", run.workload, run.scenario, attempt)));
}

std::optional<RunFile> result_of(const fs::path& out, const SuiteRunPlan& run,
                                 const std::string& series_id) {
  std::vector<RunFile> all = all_results(out, run, series_id);
  const auto rank = [](const RunFile& file) {
    return std::pair(!was_stopped(file.run.status), file.run.identity.ended_at);
  };
  const auto best =
      std::max_element(all.begin(), all.end(),
                       [&](const RunFile& a, const RunFile& b) { return rank(a) < rank(b); });
  return best == all.end() ? std::nullopt : std::optional(std::move(*best));
}

RunSoFar run_so_far(const fs::path& out, const SuiteRunPlan& run, const std::string& suite_id,
                    const std::string& machine) {
  RunSoFar so_far;
  for (int attempt = 1;; ++attempt) {
    so_far.series_id = series_of(suite_id, run, attempt);
    std::optional<RunFile> found = result_of(out, run, so_far.series_id);
    if (!found || was_stopped(found->run.status)) {
      if (!so_far.latest) so_far.latest = std::move(found);
      return so_far;
    }
    so_far.done =
        found->run.status.state == RunState::kValid && is_as_planned(found->run, run.plan, machine);
    so_far.latest = std::move(found);
    if (so_far.done) return so_far;
  }
}

void remove_stopped_tries(const SuiteRunPlan& run, const RunFile& file) {
  const fs::path out = file.path.parent_path();
  for (const RunFile& other : all_results(out, run, file.run.identity.series_id)) {
    if (!was_stopped(other.run.status)) continue;
    for (const char* extension : kLeftBehind) {
      std::error_code ignored;
      fs::remove_all(fs::path(other.path).replace_extension(extension), ignored);
    }
  }
}

SuiteTask task_of(const SuiteRunPlan& plan, const RunFile& file) {
  const Result& run = file.run;
  SuiteTask task;
  task.workload = plan.workload;
  task.scenario = plan.scenario;
  const double started = utc_seconds(run.identity.started_at).value_or(0);
  const double ended = utc_seconds(run.identity.ended_at).value_or(started);
  task.run = {run.identity.uuid, file.path.filename().string(), file.digest,
              run.status.state,  run.status.mistrusted,         run.rules.division,
              run.rules.version, std::max(0.0, ended - started)};
  task.figure = figure_of(run);
  if (!task.figure) task.no_figure = "the run timed nothing";
  if (run.quality) {
    const QualityReport& report = *run.quality;
    task.quality = {report.quality.metric, report.quality.direction,
                    report.quality.value,  report.quality.reason,
                    report.target,         report.passed,
                    frozen_for(plan, run)};
  }
  return task;
}

std::vector<std::string> advice_on_precision(const std::vector<const Result*>& runs) {
  struct Piece {
    std::string advice{};
    std::vector<std::string> names{};
  };
  // Its figures differ from run to run, what stands before them does not.
  const auto subject = [](const std::string& advice) { return advice.substr(0, advice.find(':')); };
  std::vector<Piece> pieces;
  for (const Result* run : runs) {
    for (const std::string& advice : run->status.recommendations) {
      if (advice.find("--precision ") == std::string::npos) continue;
      auto known = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& one) {
        return subject(one.advice) == subject(advice);
      });
      if (known == pieces.end()) known = pieces.insert(known, Piece{advice, {}});
      known->names.push_back(run->rules.workload + "/" + run->rules.scenario);
    }
  }
  std::vector<std::string> all;
  for (const Piece& piece : pieces) all.push_back(piece.advice + ": " + join(piece.names, ", "));
  return all;
}

}  // namespace harness
