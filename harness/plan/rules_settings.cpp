#include "harness/plan/rules_settings.hpp"

#include "harness/plan/plan.hpp"

namespace harness {
namespace {

using nlohmann::json;
using enum SettingScope;
using enum SetUpPart;

// rules_for() reads them.
void elsewhere(RunPlan& /*plan*/, const Setting& /*what*/) {}

}  // namespace

json as_asked(const Result& result, const char* name) {
  return result.settings.requested.value(name, json());
}

std::vector<Setting> rules_settings() {
  return {
      {.name = "workload",
       .part = kExempt,  // the rules' hash stands for it
       .summary = "what to measure; 'harness list' shows all",
       .value_name = "NAME",
       .choose = elsewhere,
       .repeat = [](const Result& result) { return json(result.rules.workload); }},
      {.name = "task",
       .part = kExempt,  // known by its hash, as rules are
       .summary = "a model of your own: what it takes and gives, its samples and rules, by this "
                  "task file (docs/tasks.md)",
       .value_name = "FILE",
       .choose = elsewhere,
       .repeat = [](const Result& result) { return as_asked(result, "task"); }},
      {.name = "rules",
       .part = kExempt,  // known by its hash
       .summary = "run rules from this file in place of rules/NAME.json; it names its workload",
       .value_name = "FILE",
       .choose = elsewhere,
       .repeat = [](const Result& result) { return as_asked(result, "rules"); }},
      // What answers to a task may differ between the sides of a campaign: that is what it is for.
      {.name = "model",
       .scope = kNone,
       .part = kChosen,
       .choose =
           [](RunPlan& plan, const Setting&) {
             plan.context.model = plan.rules.model;
             if (plan.rules.model) plan.effective["model"] = plan.rules.model->program.sha256;
           }},
  };
}

}  // namespace harness
