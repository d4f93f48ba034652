#include "harness/measure/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/measure/run_files.hpp"
#include "harness/measure/saved_json.hpp"
#include "harness/measure/saved_run.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/result_folder.hpp"
#include "harness/system/capture.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhichFolder = "give the --out folder of a run that was stopped";

struct Contents {
  bool saved_states = false;
  bool samples = false;
  std::vector<Result> runs{};  ///< one result a run
};

Contents contents_of(const fs::path& folder) {
  Contents contents;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string extension = entry.path().extension().string();
    contents.saved_states = contents.saved_states || extension == ".checkpoint";
    contents.samples = contents.samples || extension == ".jsonl";
    if (extension != ".json") continue;
    try {
      contents.runs.push_back(read_result_file(entry.path()));
    } catch (const Error&) {
      continue;  // of another kind, or of somebody else
    }
  }
  contents.runs = one_per_run(std::move(contents.runs));
  return contents;
}

/// Whether runs are missing of the series of any of `runs`.
bool lacks_runs(const std::vector<Result>& runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const Result& one) {
    const auto there = std::count_if(runs.begin(), runs.end(), [&](const Result& other) {
      return other.identity.series_id == one.identity.series_id;
    });
    return there < one.identity.run_count;
  });
}

/// The first result of the run that cannot be read; empty when there is none.
fs::path damaged_result(const fs::path& folder, const std::string& first) {
  for (const fs::path& file : files_of_run(folder, first, ".json")) {
    try {
      read_result_file(file);
    } catch (const Error&) {
      return file;
    }
  }
  return {};
}

}  // namespace

void expect_unfinished_series(const fs::path& folder) {
  if (has_unfinished_series(folder)) return;
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw Error("--resume " + printable(folder.string()), why, hint);
  };
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) refuse("there is no such folder", kWhichFolder);
  if (!fs::is_directory(folder, ignored)) refuse("is no folder", kWhichFolder);
  const Contents contents = contents_of(folder);
  const std::string measure_again = "measure again, into another folder";
  const auto stopped = std::count_if(contents.runs.begin(), contents.runs.end(),
                                     [](const Result& run) { return was_stopped(run.status); });
  if (contents.saved_states || lacks_runs(contents.runs)) {
    refuse("an unfinished series lies there, but its file series.state is gone",
           std::string("put that file back, or ") + kStartAnew);
  }
  if (stopped > 0) {
    refuse("its run was stopped and left no saved state: only a run that trains to a target does",
           measure_again);
  }
  if (!contents.runs.empty()) {
    refuse(fmt::format("is finished: {} there, and nothing is left to do",
                       contents.runs.size() == 1
                           ? "its result lies"
                           : fmt::format("its {} results lie", contents.runs.size())),
           "'harness report DIR' shows them");
  }
  if (contents.samples) {
    refuse("a run was killed there and left samples, but no saved state", measure_again);
  }
  refuse("no unfinished series lies there", kWhichFolder);
}

void expect_same_series(const std::vector<Result>& done, const RunPlan& plan) {
  if (done.empty()) return;
  const std::string machine = system_fingerprint(capture_system());
  for (const Result& run : done) {
    const auto model = [](const nlohmann::json& effective) {
      return effective.value("model", nlohmann::json());
    };
    const nlohmann::json before = {{"rules", run.rules.sha256},
                                   {"model", model(run.settings.effective)},
                                   {"machine", system_fingerprint(run.system)}};
    expect_same_conditions(
        before,
        {{"rules", plan.rules.sha256}, {"model", model(plan.effective)}, {"machine", machine}});
  }
}

void expect_resumable(const fs::path& folder, const SeriesState& state, const RunPlan& plan,
                      std::int64_t run_index) {
  const std::string first = first_stem(plan.rules.workload, run_index, state.series_id());
  if (has_saved_run(folder, first)) return;  // whether it is whole is looked at when it is read
  const std::string run = fmt::format("run {} of {}", run_index, plan.runs);
  const std::string& saved = state.saved_stem();
  if (saved == first || saved.starts_with(first + "-")) {
    throw Error(printable((folder / (saved + ".checkpoint")).string()),
                "the saved state of " + run + " is gone, and it has no result",
                std::string("put the file back, or ") + kStartAnew);
  }
  if (const fs::path damaged = damaged_result(folder, first); !damaged.empty()) {
    throw Error(printable(damaged.string()), "the result of " + run + " is damaged",
                fmt::format("put it back as it was, or remove it to measure {} again", run));
  }
  if (files_of_run(folder, first, ".jsonl").empty()) return;
  print_err(run + " has no whole result and no saved state: it is measured again from its start\n");
}

std::optional<GoingOn> going_on_in(const fs::path& folder, const SeriesState& state,
                                   const std::string& workload, std::optional<int> ranks,
                                   int begun) {
  const std::string what = fmt::format("--ranks {}", ranks.value_or(begun));
  const auto saved =
      find_saved_run(folder, first_stem(workload, 1, state.series_id()), state.series_id(), 1);
  if (!saved) {
    if (ranks.value_or(begun) == begun) return std::nullopt;
    throw Error(what, "there is no saved state with which other ranks could go on", kStartAnew);
  }
  const TrainedIn before = trained_in(*saved);
  const int next = ranks.value_or(before.ranks);
  if (saved->identity.run_count > 1) {
    if (next == before.ranks) return std::nullopt;
    throw Error(what, "all runs of a series have the same number of ranks",
                fmt::format("go on with {}", before.ranks));
  }
  if (before.global_batch_size % next != 0) {
    throw Error(what,
                fmt::format("each step is of {} samples, which so many cannot share evenly",
                            before.global_batch_size),
                "a number of ranks that divides it");
  }
  return GoingOn{next, before.global_batch_size / next, next != before.ranks};
}

}  // namespace harness
