#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/ablate.hpp"
#include "harness/commands/command.hpp"
#include "harness/kinds/ablation/measure.hpp"
#include "harness/measure/identity.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

const std::vector<SettingScope> kSettings = {SettingScope::kCommon};
constexpr double kMostGib = 1e6;

Options ablate_options() {
  Options options(
      "ablate",
      "Measures what each optimisation of a workload brings. The variants of its rules, each a "
      "process of its own, step in turn (docs/lockstep.md). A cluster is some rounds, after which "
      "all start anew; each gives one ratio.",
      "--workload NAME [OPTIONS]");
  add_settings(options, kSettings);
  options
      .add("variants",
           "only these variants, e.g. pooled,bf16; 'x first' then means the first of them", "LIST")
      .add_list("peer",
                "another program that steps in turn with the variants, such as 'python3 "
                "examples/lockstep_peer.py'; may be repeated",
                "NAME=CMD");
  add_ablation_options(options);
  options.example("harness ablate --workload null")
      .example("harness ablate --workload null --variants pooled,bf16 --clusters 12 --csv")
      .example(
          "harness ablate --workload null --peer alone='harness run --workload null --lockstep'")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  return options;
}

AblationRequest request_from(const Options& options) {
  AblationRequest request;
  read_settings(options, kSettings, request.common);
  require_workload(options, request.common);
  request.rounds = options.integer("rounds");
  request.clusters = options.integer("clusters");
  request.peers = options.texts("peer");
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

void add_ablation_options(Options& options) {
  options
      .add_integer("rounds",
                   "rounds in each cluster; default: by the rules and the number of variants", 1,
                   kMostRounds)
      .add_integer("clusters",
                   "how often all start anew; default: by the rules, or 6, which give an interval",
                   1, kMostClusters)
      .add_number("memory",
                  "GiB that all may take together; what does not fit is measured in groups that "
                  "share the first variant; default: what is available",
                  "GIB", 0, kMostGib)
      .add("out",
           "a .json file that is not there yet, or a folder, which is made if missing; default: a "
           "new folder under runs/",
           "PATH")
      .add("strict", "exit 3 when the machine's state makes the result doubtful");
  add_formats(options, "print the result file's JSON in place of the summary",
              "print a CSV table in place of the summary: a row for each variant");
}

std::vector<std::string> command_line_of(const char* command, const Arguments& arguments) {
  std::vector<std::string> line = {"harness", command};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return line;
}

ExitCode measure_and_deliver(const Options& options, const AblationPlan& plan,
                             const std::vector<std::string>& command_line) {
  const OutputFormat format = chosen_format(options);
  const fs::path file = choose_file(options.text("out"), plan.variants.front().plan.rules.workload);
  fs::path samples = file;
  samples.replace_extension(".jsonl");
  const OutputFolder folder(file.has_parent_path() ? file.parent_path() : fs::path("."));
  for (const fs::path& path : {file, samples}) require_vacant(path);
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  std::optional<double> memory = options.number("memory");
  if (memory) *memory *= kGib;
  return deliver(measure_ablation(plan, samples, command_line, memory), file, samples,
                 options.flag("strict"), format);
}

ExitCode ablate_command(const Arguments& arguments) {
  install_interrupt_handlers();
  Options options = ablate_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  chosen_format(options);  // refused before the work, not after it
  return measure_and_deliver(options, make_ablation_plan(request_from(options), home_folder()),
                             command_line_of("ablate", arguments));
}

}  // namespace harness
