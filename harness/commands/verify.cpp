#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/plan/plan.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/workload/capabilities.hpp"

namespace harness {
namespace {

const std::vector<std::string> kSettings = {"kernels", "precision", "threads", "tuning"};
constexpr std::size_t kLargestGoldenFile = 64 << 20;

const WorkloadEntry& workload_for(const std::string& file) {
  const nlohmann::json document = parse_json(read_file(file, kLargestGoldenFile), file);
  const std::string format =
      document.is_object() && document.contains("format") && document["format"].is_string()
          ? document["format"].get<std::string>()
          : "";
  std::vector<std::string> known;
  for (const WorkloadEntry* entry : WorkloadRegistry::instance().list()) {
    const auto& formats = entry->info.golden_formats;
    if (std::find(formats.begin(), formats.end(), format) != formats.end()) return *entry;
    known.insert(known.end(), formats.begin(), formats.end());
  }
  throw Error(printable(file),
              format.empty() ? "has no field 'format'"
                             : "golden format '" + printable(format) + "' is unknown",
              did_you_mean(format, known));
}

// Seven digits are what float32 holds.
std::string short_value(const std::string& text) {
  const std::optional<double> value = parse_number(text);
  return value && text.size() > 13 ? fmt::format("{:.7g}", *value) : printable(text);
}

}  // namespace

ExitCode verify_command(const Arguments& arguments) {
  Options options(
      "verify", "Checks the model and its kernels against golden data, one line for each quantity.",
      "--golden FILE [OPTIONS]");
  add_settings(options, kSettings);
  options.add("golden", "golden data, as in tests/golden/", "FILE")
      .example("harness verify --golden FILE.json --kernels custom")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  if (!options.parse(arguments)) return ExitCode::kOk;
  const std::string golden = options.required("golden");
  const WorkloadEntry& entry = workload_for(golden);
  RunRequest request;
  read_settings(options, kSettings, request);
  request["workload"] = entry.info.name;
  RunPlan plan = make_plan(request, home_folder());
  install_interrupt_handlers();
  const StopMessage message("stopping as soon as the checks in progress allow it");
  plan.context.interrupted = [] {
    if (interrupt_requested()) throw Interrupted();
  };

  const std::unique_ptr<Workload> workload = entry.create();
  auto& verifiable = demand<Verifiable>(*workload, printable(golden));
  const std::vector<Check> checks = verifiable.verify(golden, plan.context);
  plan.context.interrupted();  // not every workload looks while it verifies
  std::size_t failed = 0;
  constexpr const char* kRow = "{}{:<59} {:>13} {:>13} {:>5} {:>5}\n";
  print_out(fmt::format(kRow, " ", "quantity", "expected", "actual", "error", "limit"));
  for (const Check& check : checks) {
    failed += check.passed ? 0 : 1;
    print_out(fmt::format(kRow, check.passed ? " " : "!", printable(check.name),
                          short_value(check.expected), short_value(check.actual),
                          check.error ? fmt::format("{:.0e}", *check.error) : "none",
                          fmt::format("{:.0e}", check.tolerance)));
  }
  print_out(fmt::format("\n{}, {} failed{}, kernels {}, precision {}\n",
                        format_count(static_cast<long long>(checks.size()), "quantity check"),
                        failed, failed > 0 ? " (marked !)" : "", kernels_text(plan.context.kernels),
                        plan.context.precision));
  const bool verified = failed == 0 && !checks.empty();
  print_out(fmt::format("{}\n", verified ? "verified" : "not verified"));
  return verified ? ExitCode::kOk : ExitCode::kInvalid;
}

}  // namespace harness
