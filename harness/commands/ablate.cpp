#include <fmt/format.h>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/measure_ablation.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

const std::vector<SettingScope> kSettings = {SettingScope::kCommon};

Options ablate_options() {
  Options options(
      "ablate",
      "Measures what each optimisation of a workload brings. The variants of its rules take turns "
      "in one process, round after round. Each ratio compares turns of the same round.",
      "--workload NAME [OPTIONS]");
  add_settings(options, kSettings);
  options
      .add_integer("rounds", "timed rounds; 6 give an interval; default: by the rules", 1,
                   kMostRounds)
      .add("variants",
           "only these variants, e.g. pooled,bf16; 'x first' then means the first of them", "LIST")
      .add("out",
           "a .json file that is not there yet, or a folder, which is made if missing; default: a "
           "new folder under runs/",
           "PATH")
      .add("strict", "exit 3 when the machine's state makes the result doubtful");
  add_formats(options, "print the result file's JSON in place of the summary",
              "print a CSV table in place of the summary: a row for each variant");
  options.example("harness ablate --workload null")
      .example("harness ablate --workload null --variants pooled,bf16 --rounds 12 --csv")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  return options;
}

AblationRequest request_from(const Options& options) {
  AblationRequest request;
  read_settings(options, kSettings, request.common);
  require_workload(options, request.common);
  request.rounds = options.integer("rounds");
  if (const auto variants = options.text("variants")) request.variants = split(*variants, ',');
  return request;
}

// The samples take the result's name with another ending, and files of two ablations never mix.
fs::path choose_file(const std::optional<std::string>& out, const std::string& workload) {
  const std::string name = fmt::format("{}-ablation-{}.json", workload, new_uuid().substr(0, 8));
  if (!out) return new_run_folder(workload + "-ablation") / name;
  fs::path path = *out;
  const bool new_folder = !path.has_extension() && is_vacant(path);
  if (!path.has_filename() || new_folder || fs::is_directory(path)) return path / name;
  if (path.extension() != ".json") {
    throw Error("--out " + printable(*out), "neither a folder nor the name of a .json file",
                "for example --out ablation.json, or --out ablations/ for a folder");
  }
  return path;
}

}  // namespace

ExitCode ablate_command(const Arguments& arguments) {
  install_interrupt_handlers();
  Options options = ablate_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  const OutputFormat format = chosen_format(options);
  AblationPlan plan = make_ablation_plan(request_from(options), home_folder());
  const fs::path file = choose_file(options.text("out"), plan.variants.front().plan.rules.workload);
  fs::path samples = file;
  samples.replace_extension(".jsonl");
  const OutputFolder folder(file.has_parent_path() ? file.parent_path() : fs::path("."));
  for (const fs::path& path : {file, samples}) require_vacant(path);

  std::vector<std::string> command_line = {"harness", "ablate"};
  command_line.insert(command_line.end(), arguments.begin(), arguments.end());
  const Ablation ablation = measure_ablation(plan, samples, command_line);
  return deliver(ablation, file, samples, options.flag("strict"), format);
}

}  // namespace harness
