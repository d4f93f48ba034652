#include <fmt/format.h>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/commands/command.hpp"
#include "harness/kinds/ablation/gains.hpp"
#include "harness/measure/advice_facts.hpp"
#include "harness/measure/profile_file.hpp"
#include "harness/plan/settings.hpp"
#include "harness/profile/advice.hpp"
#include "harness/report/text/advice_text.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

Options advise_options() {
  Options options("advise",
                  "Says what to do next about the step of a profile. Each piece of advice comes "
                  "with what it should bring, computed from the profile and from replays on this "
                  "machine, and with the command that tries it. With --measured it shows beside "
                  "this what was measured.",
                  "FILE [OPTIONS]");
  options
      .add_list("measured",
                "an ablation that tried it: 'harness ablate' writes one; may be repeated",
                "ABLATION.json")
      .add("json", "print the same as JSON")
      .allow_words()
      .example("harness advise runs/custom/*.json")
      .example("harness advise runs/custom/*.json --measured ablation.json")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid,
              ExitCode::kInconclusive});
  return options;
}

}  // namespace

ExitCode advise_command(const Arguments& arguments) {
  install_interrupt_handlers();
  const StopMessage message("stopping after the current primitive");
  Options options = advise_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().size() != 1) {
    throw Error("advise", fmt::format("needs one profile, and not {}", options.words().size()),
                "'harness profile --workload NAME' writes one");
  }
  AdviceReport report;
  report.profile_file = options.words().front();
  const Profile profile = read_profile(report.profile_file);
  report.profile_uuid = profile.identity.uuid;
  note_doubts(profile, report.notes);
  add_measured(options.texts("measured"), profile, report);
  RunRequest request = request_from_result(profile);
  fit_to_machine(request, false, report.notes);
  RunPlan plan = make_plan(request, home_folder());
  const AdviceFacts facts = advice_facts(profile, plan, request, report.notes);
  report.step_seconds = facts.step_seconds;
  report.advice = advise(profile.tables, facts);
  report.unexplained_seconds =
      unexplained_seconds(profile.tables, report.step_seconds, report.advice);
  report.floors = floors_of(model_step(profile.tables, 1).tasks, profile.peaks);
  report.try_command = ablation_command(plan, report.advice);
  if (options.flag("json")) {
    print_json(to_json(report));
  } else {
    print_out(render_advice(report, profile, text_columns()));
  }
  return interrupt_requested() ? ExitCode::kAborted : ExitCode::kOk;
}

}  // namespace harness
