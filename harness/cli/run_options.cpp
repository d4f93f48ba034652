#include "harness/cli/run_options.hpp"

#include <limits>
#include <set>

#include "harness/base/text.hpp"
#include "harness/result/result_file.hpp"

namespace harness {

void add_common_options(Options& options) {
  options.add_integer("batch-size", "samples per step", 1, std::numeric_limits<std::int32_t>::max())
      .add_integer("threads", "threads of the workload; default: the usable physical cores", 1,
                   kMostThreads)
      .add("cpus", "pin to these CPUs, e.g. 0-3,8", "LIST")
      .add_integer("seed", "0 to 4294967295; default: by the rules", 0,
                   std::numeric_limits<std::uint32_t>::max())
      .add("data", "COCO-format folder instead of the default data", "DIR")
      .add_list("set", "a setting of the workload; one option for each", "KEY=VALUE");
}

void add_set_up_options(Options& options) {
  options.add("workload", "what to measure; 'harness list' shows all", "NAME")
      .add("tier", "length of the run, e.g. quick, standard, submission; 'harness list' shows all",
           "TIER")
      .add("kernels", "reference, custom, or one by one: OPERATOR=custom,...", "SET")
      .add("precision", "fp32 or bf16", "TYPE")
      .add("allocator", "system or pooled", "NAME");
  add_common_options(options);
}

namespace {

Options run_options() {
  Options options("run", "Measures a workload under its rules. Writes a result file for each run.",
                  "--workload NAME [OPTIONS] | --from RESULT [OPTIONS] | --resume DIR");
  add_set_up_options(options);
  options
      .add("scenario",
           "how the workload is driven: steps or epochs; in place of the tier's way, which makes "
           "the "
           "division open",
           "NAME")
      .add_integer("steps",
                   "time this many steps, in place of the tier's length; the division is then open",
                   1, kMostUnits)
      .add_number("min-seconds",
                  "time steps until they add up to S seconds, in place of the tier's length; with "
                  "--steps, until both are reached",
                  "S", 0, kMostSeconds)
      .add_integer("runs", "results in the series, each from a process of its own", 1, kMostRuns)
      .add_number("pause", "seconds to cool down before each further run of the series", "S", 0,
                  kMostPauseSeconds)
      .add_integer("max-epochs", "train at most so long, where the tier trains to a target", 1,
                   kMostEpochs)
      .add("division", "closed refuses departures from the rules; open lists them", "NAME")
      .add_number("quality-target", "another target than that of the rules; the division is open",
                  "X", std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max())
      .add("out", "folder for results and samples; default: a new one under runs/", "DIR")
      .add("resume", "go on with the series that was stopped or killed in this folder", "DIR")
      .add("from", "repeat the run of this result: its settings and seeds", "RESULT")
      .add("strict", "exit 3 when the machine's state makes the result doubtful")
      .add("dry-run", "prove that everything is in place: 3 steps, status dry-run");
  add_formats(options,
              "print the result file's JSON in place of the summary; of a series an array, one "
              "result after the other",
              "print a CSV table in place of the summary: a row for each metric of each run");
  options.example("harness run --workload null")
      .example("harness run --workload null --precision bf16 --runs 5 --csv")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  return options;
}

template <class T>
void override_with(std::optional<T>& field, const std::optional<T>& value) {
  if (value) field = value;
}

}  // namespace

std::vector<std::string> settings_given(const Options& options) {
  std::set<std::string> keys;
  std::vector<std::string> settings = options.texts("set");
  for (const std::string& setting : settings) {
    const std::string key = setting.substr(0, setting.find('='));
    if (!keys.insert(key).second) {
      throw Error("--set " + printable(setting), "'" + printable(key) + "' is given twice",
                  "leave one of them out");
    }
  }
  return settings;
}

void read_common(const Options& options, RunRequest& request) {
  override_with(request.batch_size, options.integer("batch-size"));
  override_with(request.threads, options.integer("threads"));
  override_with(request.cpus, options.text("cpus"));
  override_with(request.seed, options.integer("seed"));
  override_with(request.data, options.text("data"));
  for (const std::string& setting : settings_given(options)) request.set.push_back(setting);
}

void read_set_up(const Options& options, RunRequest& request) {
  override_with(request.tier, options.text("tier"));
  override_with(request.kernels, options.text("kernels"));
  override_with(request.precision, options.text("precision"));
  override_with(request.allocator, options.text("allocator"));
  read_common(options, request);
}

std::optional<RunInvocation> parse_run_options(const Arguments& arguments) {
  Options options = run_options();
  if (!options.parse(arguments)) return std::nullopt;
  RunInvocation invocation;
  RunRequest& request = invocation.request;
  if (const auto resume = options.text("resume")) {
    if (arguments.size() > 2) {
      throw Error("--resume " + printable(*resume), "takes no other options",
                  "the series goes on with those it was begun with");
    }
    invocation.resume = *resume;
    return invocation;
  }
  if (const auto from = options.text("from")) {
    request = request_from_result(read_result_file(*from));
    if (const auto workload = options.text("workload"); workload && *workload != request.workload) {
      throw Error("--workload " + printable(*workload),
                  "the result given with --from is of '" + printable(request.workload) + "'",
                  "leave --workload out");
    }
  } else {
    request.workload = options.required("workload");
  }
  read_set_up(options, request);
  override_with(request.scenario, options.text("scenario"));
  override_with(request.steps, options.integer("steps"));
  override_with(request.min_seconds, options.number("min-seconds"));
  override_with(request.division, options.text("division"));
  override_with(request.max_epochs, options.integer("max-epochs"));
  override_with(request.runs, options.integer("runs"));
  override_with(request.quality_target, options.number("quality-target"));
  request.dry_run = request.dry_run || options.flag("dry-run");
  if (const auto out = options.text("out")) invocation.out = *out;
  invocation.strict = options.flag("strict");
  invocation.format = chosen_format(options);
  invocation.pause_seconds = options.number("pause").value_or(0);
  invocation.command_line = {"harness", "run"};
  invocation.command_line.insert(invocation.command_line.end(), arguments.begin(), arguments.end());
  return invocation;
}

}  // namespace harness
