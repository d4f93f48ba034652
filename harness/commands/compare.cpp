#include <fmt/format.h>

#include <utility>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/checked_file.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/options.hpp"
#include "harness/commands/result_folder.hpp"
#include "harness/report/comparison.hpp"
#include "harness/result/result_file.hpp"

namespace harness {
namespace {

/// A result file, or all of those below a folder.
Side read_side(const std::string& path) {
  std::vector<Result> runs;
  for (const std::string& file : result_files({path})) runs.push_back(read_result_file(file));
  return {path, one_per_run(std::move(runs))};
}

}  // namespace

ExitCode compare_command(const Arguments& arguments) {
  Options options("compare",
                  "Puts results side by side: what differs between the set-ups, how far their "
                  "numbers lie apart, whether they converge alike.",
                  "SIDE SIDE... [OPTIONS]");
  options.add("quality-target", "count epochs to this quality, by each run's curve", "X")
      .add("json", "the same as JSON")
      .allow_words("SIDE...");
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().size() < 2) {
    throw Error("compare", "two sides are needed, each a result file or a folder of them",
                "harness compare runs/before runs/after");
  }
  std::vector<Side> sides;
  for (const std::string& path : options.words()) sides.push_back(read_side(path));
  const Comparison comparison = compare_sides(sides, options.number("quality-target"));
  print_out(
      options.flag("json")
          ? to_json(comparison).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
          : render_comparison(comparison));
  return ExitCode::kOk;
}

}  // namespace harness
