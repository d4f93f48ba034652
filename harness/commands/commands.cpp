#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "harness/base/print.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/commands/command.hpp"
#include "harness/kinds/kinds.hpp"
#include "harness/lockstep/asked.hpp"
#include "harness/measure/series.hpp"

namespace harness {
namespace {

constexpr std::array kCommands = {
    Command{"list", "workloads, kernels, rules and settings", list_command},
    Command{"doctor", "check this machine before measuring on it", doctor_command},
    Command{"run", "measure a workload, write a result file", run_command},
    Command{"suite", "measure all tasks of the suite, and sum them up in one score", suite_command},
    Command{"ablate", "what each optimisation of a workload brings", ablate_command},
    Command{"scale", "how a step scales over the ranks that share it", scale_command},
    Command{"profile", "which operators and primitives a step spends its time in", profile_command},
    Command{"project", "what a profiled step would cost here, or under other settings",
            project_command},
    Command{"advise", "what to do next about a profiled step, and what it should bring",
            advise_command},
    Command{"tune", "which kernel is fastest for each shape here: a table for runs", tune_command},
    Command{"verify", "check the model against golden data", verify_command},
    Command{"validate", "check result files against schema, digest and rules", validate_command},
    Command{"compare", "results side by side, with what differs and by how much", compare_command},
    Command{"gate", "whether a candidate is as good as its baseline: for CI", gate_command},
    Command{"bench", "any commands in turns: how long each takes, and how they compare",
            bench_command},
    Command{"check-log", "judge training logs by MLPerf's rules", check_log_command},
    Command{"report", "results as one page that opens offline, or as text", report_command},
    Command{"submit", "share results: redacted, in a results tree or an MLPerf package",
            submit_command},
};

void print_help() {
  print_out(
      "harness - benchmark harness in the MLPerf style\n\n"
      "A first result, in a second:  harness run --workload null\n"
      "A real one, in minutes:       harness run --workload NAME ('harness list' shows all)\n\n"
      "Usage: harness COMMAND [OPTIONS]\n\n");
  for (const Command& command : kCommands) {
    print_out(fmt::format("  {:<10} {}\n", command.name, command.summary));
  }
  print_out(
      "\n'harness help COMMAND' shows the options of a command, with examples and exit codes.\n"
      "'harness --version' shows the version.\n");
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command;
    names.emplace_back(command.name);
  }
  throw Error("command '" + printable(name) + "'", "unknown", did_you_mean(name, names));
}

/// `harness help`, or `harness help COMMAND`.
ExitCode help_command(const Arguments& arguments) {
  if (arguments.size() > 1) {
    throw Error("argument '" + printable(arguments[1]) + "'", "not expected",
                "harness help takes one command");
  }
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h" ||
      arguments.front() == "help") {
    print_help();
    return ExitCode::kOk;
  }
  return find_command(arguments.front()).run({"--help"});
}

int fail(const std::string& message, ExitCode code) {
  // One line whatever the message holds; scripts read it.
  std::string line = message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  flush_out();
  print_err(fmt::format("harness: {}\n", line));
  return static_cast<int>(code);
}

/// Commands whose whole answer is about what is there: a reader who has seen enough of it (as head
/// does) may go.
bool only_tells(std::string_view name) {
  constexpr std::array<std::string_view, 8> kTellers = {
      "validate", "compare", "report", "check-log", "list", "help", "--help", "-h"};
  return std::find(kTellers.begin(), kTellers.end(), name) != kTellers.end();
}

int run_command_line(int argc, char** argv) {
  try {
    const std::string name = argc > 1 ? argv[1] : "--help";
    const Arguments arguments(argv + std::min(argc, 2), argv + argc);
    if (name == "help") return static_cast<int>(help_command(arguments));
    if (name == "--help" || name == "-h") {
      print_help();
      return argc > 1 ? 0 : static_cast<int>(ExitCode::kUsage);
    }
    if (name == "--version") {
      print_out(fmt::format("{}\n", version_line()));
      return 0;
    }
    const std::optional<HarnessCall> call = heed_asking({name, arguments});
    if (!call) return static_cast<int>(ExitCode::kOk);  // it was asked what it is, and told
    return static_cast<int>(find_command(call->command).run(call->arguments));
  } catch (const Interrupted& error) {
    return fail(fmt::format("{}: {}", argv[1], error.why()), error.code());
  } catch (const Error& error) {
    return fail(error.what(), error.code());
  } catch (const std::invalid_argument& error) {
    // What kernels say of input they cannot take; they know nothing of Error.
    return fail(error.what(), ExitCode::kUsage);
  } catch (const std::bad_alloc&) {
    return fail("memory: not enough for this request (smaller batch or fewer samples)",
                ExitCode::kUsage);
  } catch (const std::exception& error) {
    return fail("internal error: " + reason(error), ExitCode::kAborted);
  }
}

}  // namespace

int run_program(int argc, char** argv) {
  guard_streams();
  start_as(argc > 0 ? argv[0] : nullptr);
  register_result_kinds();
  const int code = run_command_line(argc, argv);
  const std::optional<int> why = lost_output();
  // Whoever runs a series has the same stdout and says it for all its runs; no result is lost.
  if (!why || in_series()) return code;
  if (*why == EPIPE && argc > 1 && only_tells(argv[1])) return code;
  const bool aborted = code == static_cast<int>(ExitCode::kAborted);
  return fail(std::string("standard output: not all could be written: ") + std::strerror(*why),
              aborted ? ExitCode::kAborted : ExitCode::kUsage);
}

}  // namespace harness
