#include "harness/system/doctor.hpp"
#include "harness/base/print.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/commands/command.hpp"
#include "harness/measure/peak_schedule.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/environment.hpp"

namespace harness {
namespace {

/// A few bursts, half a second.
std::vector<Peak> measured_peaks() {
  PeakSchedule peaks(usable_cpus().physical_cores);
  peaks.after_step(0);
  return peaks.finish();
}

}  // namespace

ExitCode doctor_command(const Arguments& arguments) {
  Options options("doctor", "Checks this machine and says what to change before measuring.",
                  "[--json]");
  options.add("json", "print findings, system and environment as JSON")
      .example("harness doctor")
      .exits({ExitCode::kOk, ExitCode::kUsage});
  if (!options.parse(arguments)) return ExitCode::kOk;
  const nlohmann::json system = capture_system();
  const nlohmann::json environment = capture_environment();
  std::vector<Finding> findings = diagnose(system, environment);
  const std::vector<Peak> peaks = measured_peaks();
  for (const char* precision : {"bf16", "int8"}) findings.push_back(judge_narrow(peaks, precision));
  if (options.flag("json")) {
    print_json({{"findings", to_json(findings)}, {"system", system}, {"environment", environment}});
  } else {
    print_out(render_findings(findings));
  }
  return ExitCode::kOk;
}

}  // namespace harness
