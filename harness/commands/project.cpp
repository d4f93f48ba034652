#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "harness/base/files.hpp"
#include "harness/base/number.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/commands/command.hpp"
#include "harness/measure/profile_file.hpp"
#include "harness/measure/replay_session.hpp"
#include "harness/measure/world_projection.hpp"
#include "harness/plan/settings.hpp"
#include "harness/profile/benchdnn.hpp"
#include "harness/report/text/projection_text.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRanks = "ranks";
constexpr std::int64_t kDefaultRounds = 5;
constexpr std::int64_t kMostRounds = 100;

Options project_options() {
  Options options("project",
                  "Runs each primitive of a profile by itself on this machine and adds up what a "
                  "step would cost. Plain steps between the rounds tell how far that is from the "
                  "truth. With --set it says what a step would cost under other settings.",
                  "FILE [OPTIONS]");
  options
      .add_list("set",
                "what if: precision=bf16, batch-size=N, threads=N, ranks=N; one option for each",
                "KEY=VALUE")
      .add("network", "result of 'harness run --workload allreduce', for --set ranks", "RESULT")
      .add_integer("rounds", "how often everything is replayed; default: 5", 1, kMostRounds)
      .add("no-measure", "no plain steps, only the projection: needs neither data nor model")
      .add("json", "print the same as JSON")
      .add("out", "folder for problem files for oneDNN's benchdnn; default: a new one under runs/",
           "DIR")
      .allow_words()
      .example("harness project runs/custom/*.json")
      .example("harness project runs/custom/*.json --set precision=bf16")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  return options;
}

/// The request that repeats the profile's plain steps, with what --set changes.
RunRequest request_of(const Profile& profile, const std::vector<std::string>& set,
                      std::map<std::string, std::string>& changes,
                      std::vector<std::string>& notes) {
  RunRequest request = request_from_result(profile);
  const std::vector<std::string> keys = {"precision", "batch-size", "threads", kRanks};
  for (const std::string& item : set) {
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
    const std::string option = "--set " + printable(item);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw Error(option, "cannot be projected", did_you_mean(key, keys));
    }
    if (!changes.emplace(key, value).second) throw Error(option, key + " is given twice");
    if (key == kRanks) {
      integer_in(option, value, 2, kMostRanks);
      continue;
    }
    if (key == "precision") {
      request[key] = value;
      continue;
    }
    request[key == "threads" ? key : "batch_size"] =
        integer_in(option, value, 1, std::numeric_limits<std::int32_t>::max());
  }
  fit_to_machine(request, changes.count("threads") > 0, notes);
  return request;
}

Scaling scaling_of(const Profile& profile, const RunPlan& plan, std::vector<std::string>& notes) {
  Scaling scaling;
  scaling.by_replays = system_fingerprint(profile.system) == system_fingerprint(capture_system()) &&
                       profile.settings.effective.at("threads") == plan.context.threads;
  scaling.recorded_bandwidth = copy_bandwidth_of(profile);
  if (!scaling.by_replays && !scaling.recorded_bandwidth) {
    notes.push_back("the profile has no copy bandwidth: work outside of primitives is not scaled");
  }
  return scaling;
}

/// Problem files for oneDNN's benchdnn, and their texts.
std::map<fs::path, std::string> problem_files(const fs::path& out, const std::string& workload,
                                              const StepModel& model) {
  std::map<fs::path, std::string> files;
  for (const auto& [driver, text] : benchdnn_files(model.tasks)) {
    files.emplace(out / fmt::format("{}-benchdnn-{}.txt", workload, driver), text);
  }
  return files;
}

/// What cannot be written is said, and takes nothing of what was measured.
std::vector<std::string> write_files(const std::map<fs::path, std::string>& files,
                                     std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const auto& [file, text] : files) {
    try {
      write_file_atomically(file, text);
      names.push_back(file.string());
    } catch (const Error& error) {
      notes.push_back(fmt::format("no problem file: {}", error.what()));
    }
  }
  return names;
}

}  // namespace

ExitCode project_command(const Arguments& arguments) {
  install_interrupt_handlers();
  const StopMessage message(
      "stopping after the current primitive or plain step; rounds that are whole are kept");
  Options options = project_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().size() != 1) {
    throw Error("project", fmt::format("needs one profile, and not {}", options.words().size()),
                "'harness profile --workload NAME' writes one");
  }
  const std::optional<std::string> network = options.text("network");
  ReplayOptions replaying;
  replaying.rounds = options.integer("rounds").value_or(kDefaultRounds);
  replaying.measure = !options.flag("no-measure");

  ProjectionReport report;
  report.profile_file = options.words().front();
  const Profile profile = read_profile(report.profile_file);
  report.profile_uuid = profile.identity.uuid;
  const RunRequest request =
      request_of(profile, options.texts("set"), report.what_if, report.notes);
  if (network.has_value() != (report.what_if.count(kRanks) > 0)) {
    throw Error(network ? "--network" : "--set ranks",
                network ? "nothing says for how many ranks" : "nothing tells of their network",
                "--set ranks=N --network RESULT, a result of 'harness run --workload allreduce'");
  }
  const auto on_ranks = [&](double step_seconds, std::vector<std::string>& notes) {
    const std::int64_t ranks = std::stoll(report.what_if.at(kRanks));
    return project_world(profile, step_seconds, ranks, *network, notes);
  };
  note_doubts(profile, report.notes);
  if (network && report.what_if.size() == 1) {
    // One rank's step is the profile's own then: there is nothing to replay.
    report.recorded_step_seconds = median_of(profile.metrics, kPlainStep).value_or(0);
    report.world = on_ranks(report.recorded_step_seconds, report.notes);
    if (options.flag("json")) {
      print_json(world_json(report));
    } else {
      print_out(render_world_alone(report, profile, text_columns()));
    }
    return ExitCode::kOk;
  }
  std::vector<std::string> unsaid;
  if (network) on_ranks(1, unsaid);  // refused before anything is replayed
  RunPlan plan = make_plan(request, home_folder());
  const StepModel model = model_of(profile, plan.context, report.notes);
  const Scaling scaling = scaling_of(profile, plan, report.notes);
  const fs::path out = options.text("out") ? fs::path(*options.text("out"))
                                           : new_run_folder(plan.rules.workload + "-projection");
  const OutputFolder folder(out);
  const std::map<fs::path, std::string> problems = problem_files(out, plan.rules.workload, model);
  for (const auto& [file, text] : problems) refuse_to_replace(file, {report.profile_file});

  ReplayRecord record = replay(plan, model, replaying);
  report.projection = project(model, scaling, record.rounds);
  if (network) {
    report.world = on_ranks(report.projection.projected.center, report.notes);
  }
  if (report.projection.scaled_by == "replays") {
    note_slowdown(report.projection.slowdown, report.notes);
  }
  report.library = record.library;
  report.floors = floors_of(model.tasks, record.peaks);
  report.rounds_wanted = replaying.rounds;
  report.primitives = model.tasks.size();
  report.recorded_step_seconds = model.step_seconds;
  report.rounds = std::move(record.rounds);
  report.notes.insert(report.notes.end(), record.notes.begin(), record.notes.end());
  report.problem_files = write_files(problems, report.notes);
  if (options.flag("json")) {
    print_json(to_json(report));
  } else {
    print_out(render_projection(report, profile, text_columns()));
  }
  const bool whole = std::ssize(report.rounds) == replaying.rounds;
  return whole ? ExitCode::kOk : ExitCode::kAborted;
}

}  // namespace harness
