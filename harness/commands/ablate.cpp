#include <fmt/format.h>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/measure_ablation.hpp"
#include "harness/commands/options.hpp"
#include "harness/commands/output.hpp"
#include "harness/commands/result_parts.hpp"
#include "harness/run/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

Options ablate_options() {
  Options options(
      "ablate",
      "Measures what each optimisation of a workload brings: the variants of its rules\n"
      "take turns in one process, round after round, and each ratio is one of turns of\n"
      "the same round.",
      "--workload NAME [OPTIONS]");
  options.add("workload", "what to measure; 'harness list' shows all", "NAME")
      .add("rounds", "timed rounds; 6 give an interval; default: by the rules", "N")
      .add("variants",
           "only these variants, e.g. pooled,focal-loss; 'x first' is then against the first of "
           "them",
           "LIST")
      .add("batch-size", "samples per step", "N")
      .add("threads", "threads of the workload; default: the usable physical cores", "N")
      .add("cpus", "pin to these CPUs, e.g. 0-3,8", "LIST")
      .add("seed", "0 to 4294967295; default: by the rules", "N")
      .add("data", "COCO-format folder instead of the default data", "DIR")
      .add_list("set", "a setting of the workload; may be repeated", "KEY=VALUE")
      .add("out", "a new .json file, or a folder; default: a new folder under runs/", "FILE")
      .add("strict", "exit 3 when the machine's state makes the result doubtful");
  return options;
}

AblationRequest request_from(const Options& options) {
  AblationRequest request;
  request.common.workload = options.required("workload");
  request.common.batch_size = options.integer("batch-size");
  request.common.threads = options.integer("threads");
  request.common.cpus = options.text("cpus");
  request.common.seed = options.integer("seed");
  request.common.data = options.text("data");
  request.common.set = options.texts("set");
  request.rounds = options.integer("rounds");
  if (const auto variants = options.text("variants")) request.variants = split(*variants, ',');
  return request;
}

// The samples take the result's name with another ending, and files of two ablations never mix.
fs::path choose_file(const std::optional<std::string>& out, const std::string& workload) {
  const std::string name = fmt::format("{}-ablation-{}.json", workload, new_uuid().substr(0, 8));
  if (!out) return new_run_folder(workload + "-ablation") / name;
  fs::path path = *out;
  if (!path.has_filename() || fs::is_directory(path)) return path / name;
  if (path.extension() != ".json") {
    throw Error("--out " + printable(*out), "neither a folder nor the name of a .json file",
                "for example --out ablation.json");
  }
  return path;
}

void prepare_place(const fs::path& file, const fs::path& samples) {
  make_writable_folder(file.has_parent_path() ? file.parent_path() : fs::path("."));
  for (const fs::path& path : {file, samples}) {
    if (!fs::exists(path)) continue;
    throw Error(printable(path.string()), "exists already", "choose another name with --out");
  }
}

}  // namespace

ExitCode ablate_command(const Arguments& arguments) {
  install_interrupt_handlers();
  Options options = ablate_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  AblationPlan plan = make_ablation_plan(request_from(options), home_folder());
  const fs::path file = choose_file(options.text("out"), plan.variants.front().plan.rules.workload);
  fs::path samples = file;
  samples.replace_extension(".jsonl");
  prepare_place(file, samples);

  std::vector<std::string> command_line = {"harness", "ablate"};
  command_line.insert(command_line.end(), arguments.begin(), arguments.end());
  const Ablation ablation = measure_ablation(plan, samples, command_line);
  return deliver(ablation, file, samples, options.flag("strict"));
}

}  // namespace harness
