#include <limits>
#include <utility>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/commands/command.hpp"
#include "harness/compare/comparison.hpp"
#include "harness/report/text/comparison_text.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/result_folder.hpp"

namespace harness {
namespace {

/// A result file, or all of those below a folder.
Side read_side(const std::string& path) {
  std::vector<Result> runs;
  for (const std::string& file : result_files({path})) runs.push_back(read_result_file(file));
  require_whole_series(path, runs);
  return {path, one_per_run(std::move(runs))};
}

}  // namespace

ExitCode compare_command(const Arguments& arguments) {
  Options options("compare",
                  "Puts results side by side. Says what differs between the set-ups, how far their "
                  "numbers lie apart, and whether they converge alike. A side is a result file or "
                  "a folder of them. Runs of one series, and of series that began within an hour, "
                  "count once; from six hours a side on, speeds get a verdict.",
                  "SIDE SIDE... [OPTIONS]");
  options.add_number("quality-target", "count epochs to this quality, by each run's curve", "X",
                     std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max());
  add_formats(options, "print the same as JSON",
              "print a CSV table: a row for each quantity of each side");
  options.allow_words()
      .example("harness compare runs/before runs/after")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kInvalid, ExitCode::kInconclusive});
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().size() < 2) {
    throw Error("compare", "two sides are needed, each a result file or a folder of them",
                "harness compare runs/before runs/after");
  }
  const OutputFormat format = chosen_format(options);
  std::vector<Side> sides;
  for (const std::string& path : options.words()) sides.push_back(read_side(path));
  const Comparison comparison = compare_sides(sides, options.number("quality-target"));
  switch (format) {
    case OutputFormat::kJson:
      print_json(to_json(comparison));
      break;
    case OutputFormat::kCsv:
      print_out(comparison_csv(comparison));
      break;
    default:
      print_out(render_comparison(comparison));
  }
  return ExitCode::kOk;
}

}  // namespace harness
