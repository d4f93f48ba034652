#include "harness/plan/scenario_settings.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/plan/settings.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// As it is chosen, for scenarios that `serves` says yes to; elsewhere it was not to be asked for.
void choose_for(RunPlan& plan, const Setting& what, bool serves, const char* scenarios) {
  const json value = checked(plan, what);
  if (!serves && !plan.asked(what.name).is_null() && value != what.standard) {
    throw Error("--" + what.option(),
                fmt::format("does nothing in scenario '{}'", plan.scenario->info().name),
                fmt::format("leave it out, or give --scenario {}", scenarios));
  }
  plan.effective[what.name] = value;
  plan.context.chosen[what.name] = value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::vector<Setting> scenario_settings() {
  return {
      {.name = "server_rate",
       .kind = SettingKind::kNumber,
       .scope = SettingScope::kRun,
       .summary = "queries per second of the scenario server; default: the highest that is held, "
                  "found by trying",
       .value_name = "N",
       .low = 0.001,
       .high = 1e9,
       .choose =
           [](RunPlan& plan, const Setting& what) {
             choose_for(plan, what, plan.scenario->info().name == "server", "server");
           }},
      {.name = "audit",
       .scope = SettingScope::kRun,
       .summary = "a compliance test of MLPerf Inference behind LoadGen's own, in its scenarios",
       .value_name = "TEST",
       .standard = "none",
       .choices = {"none", "TEST01", "TEST04"},
       .choose =
           [](RunPlan& plan, const Setting& what) {
             choose_for(plan, what, plan.scenario->info().by_loadgen,
                        "single-stream, multi-stream, server or offline");
           }},
      {.name = "max_epochs",
       .kind = SettingKind::kInteger,
       .scope = SettingScope::kRun,
       .summary = "train at most so many epochs, in a tier that counts epochs",
       .low = 1,
       .high = kMostEpochs,
       .choose = [](RunPlan&, const Setting&) {}},  // with the other lengths: choose_extent()
      {.name = "keep_weights",
       .scope = SettingScope::kRun,
       .part = SetUpPart::kExempt,
       .summary = "yes: what was trained to a target stays beside the result as safetensors, for "
                  "--set weights",
       .value_name = "CHOICE",
       .standard = "no",
       .choices = {"no"},
       .choose =
           [](RunPlan& plan, const Setting& what) {
             choose_for(plan, what, plan.scenario->info().to_target, "epochs");
           }},
  };
}

}  // namespace harness
