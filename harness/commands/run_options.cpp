#include "harness/commands/run_options.hpp"

#include "harness/base/text.hpp"
#include "harness/result/result_file.hpp"

namespace harness {

void add_set_up_options(Options& options) {
  options.add("workload", "what to measure; 'harness list' shows all", "NAME")
      .add("tier", "length of the run, e.g. quick, standard, submission; 'harness list' shows all",
           "TIER")
      .add("kernels", "reference, custom, or per operator: focal-loss=custom,...", "SET")
      .add("precision", "fp32 or bf16", "TYPE")
      .add("allocator", "system or pooled", "NAME")
      .add("batch-size", "samples per step", "N")
      .add("threads", "threads of the workload; default: the usable physical cores", "N")
      .add("cpus", "pin to these CPUs, e.g. 0-3,8", "LIST")
      .add("seed", "0 to 4294967295; default: by the rules", "N")
      .add("data", "COCO-format folder instead of the default data", "DIR")
      .add_list("set", "a setting of the workload; may be repeated", "KEY=VALUE");
}

namespace {

Options run_options() {
  Options options("run", "Measures a workload under its rules and writes one result file per run.",
                  "--workload NAME [OPTIONS]");
  add_set_up_options(options);
  options.add("runs", "results in the series, each from a process of its own", "N")
      .add("pause", "seconds to cool down before each further run of the series", "S")
      .add("max-epochs", "train at most so long, where the tier trains to a target", "N")
      .add("division", "closed refuses departures from the rules; open lists them", "NAME")
      .add("quality-target", "another target than the rules' (division open)", "X")
      .add("out", "folder for results and samples; default: a new one under runs/", "DIR")
      .add("resume", "go on with the series that was stopped or killed in this folder", "DIR")
      .add("from", "repeat the run of this result: its settings and seeds", "RESULT")
      .add("strict", "exit 3 when the machine's state makes the result doubtful")
      .add("dry-run", "prove that everything is in place: 3 steps, status dry-run");
  return options;
}

template <class T>
void override_with(std::optional<T>& field, const std::optional<T>& value) {
  if (value) field = value;
}

}  // namespace

void read_set_up(const Options& options, RunRequest& request) {
  override_with(request.tier, options.text("tier"));
  override_with(request.kernels, options.text("kernels"));
  override_with(request.precision, options.text("precision"));
  override_with(request.allocator, options.text("allocator"));
  override_with(request.cpus, options.text("cpus"));
  override_with(request.data, options.text("data"));
  override_with(request.batch_size, options.integer("batch-size"));
  override_with(request.threads, options.integer("threads"));
  override_with(request.seed, options.integer("seed"));
  for (const std::string& setting : options.texts("set")) request.set.push_back(setting);
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
  override_with(request.division, options.text("division"));
  override_with(request.max_epochs, options.integer("max-epochs"));
  override_with(request.runs, options.integer("runs"));
  override_with(request.quality_target, options.number("quality-target"));
  request.dry_run = request.dry_run || options.flag("dry-run");
  if (const auto out = options.text("out")) invocation.out = *out;
  invocation.strict = options.flag("strict");
  invocation.pause_seconds = options.number("pause").value_or(0);
  if (invocation.pause_seconds < 0) throw Error("--pause", "is below 0");
  invocation.command_line = {"harness", "run"};
  invocation.command_line.insert(invocation.command_line.end(), arguments.begin(), arguments.end());
  return invocation;
}

}  // namespace harness
