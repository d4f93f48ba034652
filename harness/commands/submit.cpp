#include <algorithm>

#include "harness/cli/options.hpp"
#include "harness/commands/command.hpp"
#include "harness/submit/private_names.hpp"
#include "harness/submit/submit_package.hpp"
#include "harness/submit/submit_results.hpp"

namespace harness {
namespace {

/// Options that mean nothing beside the layout chosen are mistakes, not decoration.
void refuse_beside(const Options& options, const char* chosen,
                   const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    if (options.flag(other)) throw Error("--" + other, std::string("means nothing ") + chosen);
  }
}

}  // namespace

ExitCode submit_command(const Arguments& arguments) {
  Options options(
      "submit",
      "Validates results, takes out what names a person or a machine, and puts each in its place "
      "in a results tree. With --mlperf it lays out five runs of training, or runs by LoadGen, as "
      "an MLPerf package.",
      "FILE... --to DIR [--redact TEXT]...\n"
      "  harness submit FILE... --to DIR --mlperf [--rehearsal]\n"
      "  harness submit --check DIR");
  options.add("to", "folder of the results tree; of a package: empty or new", "DIR")
      .add_list("redact", "take out this text too; may be repeated", "TEXT")
      .add("check", "judge a results tree: each file sound, redacted, in its place, there once",
           "DIR")
      .add("mlperf", "layout of MLPerf Training 5.1.0 or MLPerf Inference 6.0, by what is given")
      .add("rehearsal", "take runs that are not MLPerf's own, and mark every file")
      .allow_words()
      .example("harness submit runs/NAME/*.json --to results")
      .example("harness submit runs/NAME/*.json --to package --mlperf --rehearsal")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kInvalid});
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (const auto tree = options.text("check")) {
    refuse_beside(options, "beside --check", {"to", "redact", "mlperf", "rehearsal"});
    if (!options.words().empty()) throw Error("--check", "takes one folder and no files");
    return check_results_tree(*tree);
  }
  const std::string folder = options.required("to");
  if (options.words().empty()) {
    throw Error("submit", "no file given", "harness submit runs/*/*.json --to results");
  }
  if (options.flag("mlperf")) {
    refuse_beside(options, "beside --mlperf", {"redact"});
    return submit_package(options.words(), folder, options.flag("rehearsal"));
  }
  refuse_beside(options, "without --mlperf", {"rehearsal"});
  PrivateNames names = own_private_names();
  names.others = options.texts("redact");
  if (std::find(names.others.begin(), names.others.end(), "") != names.others.end()) {
    throw Error("--redact ''", "an empty text is in every text", "name what is to be taken out");
  }
  return submit_results(options.words(), folder, names);
}

}  // namespace harness
