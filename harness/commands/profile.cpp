#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/measure/measure.hpp"
#include "harness/profile/trace.hpp"
#include "harness/result/profile.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

// A quarter of what the tier times, within these: short steps differ more from one to the next.
constexpr std::int64_t kFewestSteps = 3;
constexpr std::int64_t kUsualSteps = 30;
constexpr std::int64_t kMostSteps = 100;
constexpr std::int64_t kWarmupSteps = 2;

const std::vector<SettingScope> kSettings = {SettingScope::kCommon, SettingScope::kVariant,
                                             SettingScope::kMeasurement};

Options profile_options() {
  Options options("profile",
                  "Looks into the steps of a workload. Shows which operators took the time, which "
                  "primitives ran for them, and where the memory went. Recorded steps and plain "
                  "ones take turns: the plain ones tell what recording costs.",
                  "--workload NAME [OPTIONS]");
  add_settings(options, kSettings);
  options
      .add_integer("steps",
                   "recorded steps, and as many plain ones between them; default: a quarter of the "
                   "tier's, 3 to 30",
                   1, kMostSteps)
      .add("out", "folder for the profile, its trace and its log; default: a new one under runs/",
           "DIR")
      .add("strict", "exit 3 when the machine's state makes the result doubtful")
      .example("harness profile --workload null --kernels custom --out runs/custom")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  return options;
}

RunPlan plan_profile(const Options& options) {
  RunRequest request;
  read_settings(options, kSettings, request);
  require_workload(options, request);
  RunPlan plan = make_plan(request, home_folder());
  if (plan.scenario != &find_scenario("steps")) {
    throw Error("--tier " + plan.tier_name,
                "is of scenario '" + plan.scenario->info().name + "', which has no plain steps",
                "use a tier of a number of steps");
  }
  const std::int64_t steps = options.integer("steps").value_or(
      std::clamp(plan.tier.min_steps / 4, kFewestSteps, kUsualSteps));
  plan.tier.warmup_steps = kWarmupSteps;
  plan.tier.min_steps = steps;
  plan.tier.min_seconds = 0;
  plan.effective["warmup_steps"] = kWarmupSteps;
  plan.effective["min_steps"] = steps;
  plan.effective["min_seconds"] = 0;
  return plan;
}

/// The file's name; empty, with a note, where it cannot be written: the profile itself is worth
/// more.
std::string write_beside(const fs::path& out, const std::string& name, const std::string& content,
                         std::vector<std::string>& notes) {
  try {
    write_file_atomically(out / name, content);
    return name;
  } catch (const Error& error) {
    notes.emplace_back(error.what());
    return "";
  }
}

void name_file(const char* label, const fs::path& out, const std::string& name) {
  if (!name.empty()) print_out(fmt::format("{:<8} {}\n", label, (out / name).string()));
}

}  // namespace

ExitCode profile_command(const Arguments& arguments) {
  install_interrupt_handlers();
  Options options = profile_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  RunPlan plan = plan_profile(options);
  const fs::path out = options.text("out") ? fs::path(*options.text("out"))
                                           : new_run_folder(plan.rules.workload + "-profile");
  const OutputFolder folder(out);

  MeasureTask task;
  task.position = {new_uuid(), 1, 1};
  task.out = out;
  task.stem =
      fmt::format("{}-profile-{}", plan.rules.workload, task.position.series_id.substr(0, 8));
  task.command_line = {"harness", "profile"};
  task.command_line.insert(task.command_line.end(), arguments.begin(), arguments.end());
  Recording recording;
  task.recording = &recording;

  Profile profile;
  static_cast<Result&>(profile) = measure(plan, task);
  profile.tables = tabulate(recording);
  measure_overhead(profile);
  profile.log_file = write_beside(out, task.stem + ".log", recording.log, profile.tables.notes);
  std::ostringstream trace;
  write_trace(recording, trace);
  profile.trace_file = write_beside(out, task.stem + ".trace", trace.str(), profile.tables.notes);
  const ExitCode code = deliver(profile, out / (task.stem + ".json"), out / (task.stem + ".jsonl"),
                                options.flag("strict"));
  name_file("log", out, profile.log_file);
  return code;
}

}  // namespace harness
