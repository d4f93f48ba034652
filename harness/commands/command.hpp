// A command: argv in, exit code out. One file per command; the table is in commands.cpp.
#pragma once

#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/cli/options.hpp"

namespace harness {

struct Command {
  const char* name;
  const char* summary;  ///< one line for `harness --help`
  ExitCode (*run)(const Arguments& arguments);
};

ExitCode list_command(const Arguments& arguments);
ExitCode doctor_command(const Arguments& arguments);
ExitCode run_command(const Arguments& arguments);
ExitCode suite_command(const Arguments& arguments);
ExitCode ablate_command(const Arguments& arguments);
ExitCode scale_command(const Arguments& arguments);
ExitCode profile_command(const Arguments& arguments);
ExitCode project_command(const Arguments& arguments);
ExitCode advise_command(const Arguments& arguments);
ExitCode tune_command(const Arguments& arguments);
ExitCode verify_command(const Arguments& arguments);
ExitCode validate_command(const Arguments& arguments);
ExitCode check_log_command(const Arguments& arguments);
ExitCode compare_command(const Arguments& arguments);
ExitCode gate_command(const Arguments& arguments);
ExitCode bench_command(const Arguments& arguments);
ExitCode report_command(const Arguments& arguments);
ExitCode submit_command(const Arguments& arguments);

/// The whole program: finds the command, runs it, turns errors into one line on stderr.
int run_program(int argc, char** argv);

}  // namespace harness
