#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/measure/tuning_session.hpp"
#include "harness/report/text/tuning_text.hpp"
#include "harness/result/tuning_file.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultRounds = 7;
constexpr std::int64_t kMostRounds = 1000;

const std::vector<SettingScope> kSettings = {SettingScope::kCommon, SettingScope::kVariant,
                                             SettingScope::kMeasurement};

Options tune_options() {
  Options options("tune",
                  "Times every kernel that could compute a shape of the workload's step, and "
                  "writes a table of the fastest. Runs with --tuning FILE follow it; nothing is "
                  "tuned within a run, so that runs can be repeated.",
                  "--workload NAME [OPTIONS]");
  add_settings(options, kSettings);
  options.add_integer("rounds", "how often each kernel is timed; default: 7", 1, kMostRounds)
      .add("extend", "begin with the lines of this table; what is measured replaces them", "FILE")
      .add("out", "the table; default: tuning.json in a new folder under runs/", "FILE")
      .example("harness tune --workload conv-blocks --out tuning.json")
      .example("harness run --workload conv-blocks --tuning tuning.json")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted});
  return options;
}

RunPlan plan_tuning(const Options& options) {
  RunRequest request;
  read_settings(options, kSettings, request);
  require_workload(options, request);
  if (request.text("kernels").empty()) request["kernels"] = "custom";
  return make_plan(request, home_folder());
}

std::string processor() {
  const nlohmann::json system = capture_system();
  const nlohmann::json::json_pointer model("/cpu/model_name");
  const bool known = system.contains(model) && system.at(model).is_string();
  return known ? printable(system.at(model).get<std::string>(), 200) : "unknown";
}

}  // namespace

ExitCode tune_command(const Arguments& arguments) {
  install_interrupt_handlers();
  const StopMessage message("stopping after the current problem; those measured are written");
  Options options = tune_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  RunPlan plan = plan_tuning(options);
  TuningTable table;
  const auto extend = options.text("extend");
  if (extend) table = load_tuning(*extend, plan.context.home);
  const fs::path file = options.text("out")
                            ? fs::path(*options.text("out"))
                            : new_run_folder(plan.rules.workload + "-tuning") / "tuning.json";
  refuse_to_replace(file);
  const OutputFolder folder(file.has_parent_path() ? file.parent_path() : fs::path("."));

  const TuningRecord record = tune(plan, options.integer("rounds").value_or(kDefaultRounds));
  if (extend && table.instruction_set != record.instruction_set) {
    throw Error(printable(*extend),
                "is a table for " + table.instruction_set + ", not for " + record.instruction_set);
  }
  table.instruction_set = record.instruction_set;
  table.processor = processor();
  for (const TunedProblem& tuned : record.problems) table.lines[tuned.problem] = tuned.line;
  write_file_atomically(file, tuning_text(table));
  print_out(render_tuning(record, text_columns()));
  for (const std::string& note : record.notes) print_out("note: " + note + "\n");
  print_out(fmt::format("\ntable  {} ({}, {} measured now)\n", file.string(),
                        format_count(std::ssize(table.lines), "line"), record.problems.size()));
  print_out(fmt::format("use    {} run --workload {} --tuning {}\n", started_as(),
                        plan.rules.workload, pasted_word(file.string())));
  return record.problems.size() == record.planned || !record.notes.empty() ? ExitCode::kOk
                                                                           : ExitCode::kAborted;
}

}  // namespace harness
