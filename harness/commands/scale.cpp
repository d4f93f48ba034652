#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/ablate.hpp"
#include "harness/commands/command.hpp"
#include "harness/plan/settings.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

const std::vector<SettingScope> kSettings = {SettingScope::kCommon, SettingScope::kVariant};
const std::vector<std::string> kMore = {"oversubscribe"};

Options scale_options() {
  Options options(
      "scale",
      "Measures how a step scales over the ranks that share it (docs/ranks.md). Worlds of one, two "
      "and more ranks, each with processes of its own, step in turn. Weak: each rank has "
      "--batch-size samples. Strong: all share the samples of the largest world. Threads are of "
      "each rank; without --threads as many as the largest world has CPUs for.",
      "--workload NAME --ranks LIST [OPTIONS]");
  add_settings(options, kSettings);
  add_settings(options, kMore);
  options.add("ranks", "numbers of ranks, rising, such as 1,2,4", "LIST");
  add_ablation_options(options);
  options.example("harness scale --workload null --ranks 1,2 --oversubscribe")
      .example("harness scale --workload null --batch-size 4 --ranks 1,2,4 --oversubscribe")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  return options;
}

ScaleRequest request_from(const Options& options) {
  ScaleRequest request;
  read_settings(options, kSettings, request.common);
  read_settings(options, kMore, request.common);
  require_workload(options, request.common);
  request.rounds = options.integer("rounds");
  request.clusters = options.integer("clusters");
  const std::string list = options.required("ranks");
  for (const std::string& part : split(list, ',')) {
    request.ranks.push_back(integer_in("--ranks " + printable(list), part, 1, kMostRanks));
  }
  return request;
}

}  // namespace

ExitCode scale_command(const Arguments& arguments) {
  install_interrupt_handlers();
  Options options = scale_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  chosen_format(options);  // refused before the work, not after it
  return measure_and_deliver(options, make_scale_plan(request_from(options), home_folder()),
                             command_line_of("scale", arguments));
}

}  // namespace harness
