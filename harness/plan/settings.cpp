#include "harness/plan/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/plan/process_settings.hpp"
#include "harness/plan/rules_settings.hpp"
#include "harness/plan/scenario_settings.hpp"
#include "harness/plan/tuning.hpp"
#include "harness/result/setting.hpp"
#include "harness/system/affinity.hpp"

namespace harness {
namespace {

using nlohmann::json;
using enum SettingKind;
using enum SettingScope;
using enum SetUpPart;

/// What was asked for, or what the rules say, or the setting's own default.
json value_of(const RunPlan& plan, const Setting& what) {
  if (json asked = plan.asked(what.name); !asked.is_null()) return asked;
  const auto ruled = plan.rules.defaults.find(what.name);
  if (ruled == plan.rules.defaults.end()) return what.standard;
  return what.from_text(ruled->second);
}

std::map<std::string, std::string> parse_settings(const std::vector<std::string>& given,
                                                  const WorkloadInfo& info) {
  std::map<std::string, std::string> settings;
  for (const SettingInfo& setting : info.settings) settings[setting.key] = setting.default_value;
  const std::vector<std::string> keys = names_of(settings);
  for (const std::string& item : given) {
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const auto known = std::find_if(info.settings.begin(), info.settings.end(),
                                    [&](const SettingInfo& setting) { return setting.key == key; });
    if (known == info.settings.end()) {
      throw Error("--set " + printable(item),
                  fmt::format("workload '{}' has no setting '{}'", info.name, printable(key)),
                  did_you_mean(key, keys));
    }
    if (equals == std::string::npos) {
      throw Error("--set " + printable(item), "has no value", "write --set " + key + "=VALUE");
    }
    const std::string value = item.substr(equals + 1);
    if (!known->choices.empty()) choose_known(("set " + key).c_str(), value, known->choices);
    settings[key] = value;
  }
  return settings;
}

// Chosen in make_plan(), or all together in choose_extent().
void elsewhere(RunPlan& /*plan*/, const Setting& /*what*/) {}
json nothing(const Result& /*result*/) { return {}; }

// Whose queries are of one size, whatever a batch is.
bool has_own_size(const std::string& scenario) {
  return scenario == "single-stream" || scenario == "multi-stream";
}

json kernels_again(const Result& result) {
  std::vector<std::string> kernels;
  for (const auto& [name, implementation] : result.kernels) {
    kernels.push_back(name + "=" + implementation);
  }
  return kernels.empty() ? json() : json(join(kernels, ","));
}

json set_again(const Result& result) {
  json list = json::array();
  const json settings = result.settings.effective.value("set", json::object());
  for (const auto& [key, value] : settings.items()) {
    list.push_back(key + "=" + value.get<std::string>());
  }
  return list.empty() ? json() : list;
}

const RegisterSettings registered_of_rules(rules_settings());
const RegisterSettings registered({
    {.name = "tier",
     .scope = kMeasurement,
     .summary = "length of the run, e.g. quick, standard, submission; 'harness list' shows all",
     .value_name = "TIER",
     .choose = [](RunPlan& plan, const Setting&) { plan.effective["tier"] = plan.tier_name; },
     .repeat = [](const Result& result) { return json(result.rules.tier); }},
    {.name = "scenario",
     .scope = kRun,
     .summary = "how the workload is driven: steps, epochs, single-stream, multi-stream, server or "
                "offline; one that the tier does not name makes the division open",
     .value_name = "NAME",
     .choose = elsewhere,
     .repeat = [](const Result& result) { return as_asked(result, "scenario"); }},
    {.name = "kernels",
     .scope = kVariant,
     .part = kChosen,
     .summary = "reference, custom, or one by one: OPERATOR=custom,...",
     .value_name = "SET",
     .standard = "reference",
     .choose =
         [](RunPlan& plan, const Setting& what) {
           plan.context.kernels = parse_kernels(value_of(plan, what).get<std::string>(),
                                                plan.workload->info.operators);
         },
     .repeat = kernels_again,
     .by_rules = true},
    {.name = "tuning",
     .part = kChosen,
     .summary = "table of 'harness tune' for kernels that follow one; default: the one that comes "
                "with the program for these instructions",
     .value_name = "FILE",
     .choose = [](RunPlan& plan, const Setting&) { choose_tuning(plan); },
     .repeat = [](const Result& result) { return as_asked(result, "tuning"); },
     .by_hash = true},
    {.name = "precision",
     .scope = kVariant,
     .part = kChosen,
     .summary =
         "fp32, bf16 or, for inference, int8; default: by the rules, under LoadGen by trials",
     .value_name = "TYPE",
     .standard = "fp32",
     .choices = {"fp32"},
     .choose =
         [](RunPlan& plan, const Setting& what) {
           plan.context.precision = plan.effective["precision"] = checked(plan, what);
         },
     .by_rules = true},
    {.name = "allocator",
     .scope = kVariant,
     .part = kChosen,
     .summary = "system or pooled",
     .value_name = "NAME",
     .standard = "system",
     .choices = {"system"},
     .choose =
         [](RunPlan& plan, const Setting& what) {
           plan.context.allocator = plan.effective["allocator"] = checked(plan, what);
         },
     .by_rules = true},
    {.name = "device",
     .summary = "where the workload computes: cpu",
     .value_name = "NAME",
     .standard = "cpu",
     .choices = {"cpu"}},
    {.name = "batch_size",
     .kind = kInteger,
     .summary = "samples per step",
     .low = 1,
     .high = std::numeric_limits<std::int32_t>::max(),
     .choose =
         [](RunPlan& plan, const Setting& what) {
           const json asked = plan.asked("batch_size");
           const std::string& scenario = plan.scenario->info().name;
           const auto own = static_cast<std::int64_t>(plan.tier.key("samples_per_query", 1));
           if (!asked.is_null() && has_own_size(scenario) && asked != own) {
             throw Error(fmt::format("--batch-size {}", asked.dump()),
                         fmt::format("scenario '{}' has queries of {}", scenario,
                                     format_count(own, "sample")),
                         "leave it out; it is for steps, server and offline");
           }
           const auto size = asked.is_null() ? plan.tier.batch_size : asked.get<std::int64_t>();
           plan.effective["batch_size"] = plan.context.batch_size = integer_in_bounds(what, size);
         },
     .repeat =
         [](const Result& result) {
           return has_own_size(result.rules.scenario)
                      ? json()
                      : result.settings.effective.value("batch_size", json());
         }},
    {.name = "seed",
     .kind = kInteger,
     .part = kExempt,
     .summary = "0 to 4294967295; default: by the rules",
     .low = 0,
     .high = std::numeric_limits<std::uint32_t>::max(),
     .choose = [](RunPlan& plan,
                  const Setting&) { plan.effective["seed"] = plan.context.seeds.run; },
     .repeat = [](const Result& result) { return json(result.seeds.run); }},
    {.name = "data",
     .part = kExempt,  // known by its hash
     .summary =
         "this folder in place of the default data; 'harness list NAME' says what it has to hold",
     .value_name = "DIR",
     .choose =
         [](RunPlan& plan, const Setting&) {
           const json asked = plan.effective["data"] = plan.asked("data");
           if (asked.is_null()) return;
           const WorkloadInfo& info = plan.workload->info;
           if (info.data_folder.empty())
             throw Error("--data", "workload '" + info.name + "' takes no data");
           plan.context.data_dir = asked.get<std::string>();
         }},
    {.name = "set",
     .kind = kList,
     .summary = "a setting of the workload; one option for each",
     .value_name = "KEY=VALUE",
     .choose =
         [](RunPlan& plan, const Setting&) {
           plan.effective["set"] = plan.context.settings = parse_settings(
               plan.requested.value("set", std::vector<std::string>()), plan.workload->info);
         },
     .repeat = set_again},
    {.name = "steps",
     .kind = kInteger,
     .scope = kRun,
     .part = kExempt,
     .summary = "time this many steps, in place of the tier's length; the division is then open",
     .low = 1,
     .high = kMostUnits,
     .choose = elsewhere,
     .repeat = [](const Result& result) { return as_asked(result, "steps"); }},
    {.name = "min_seconds",
     .kind = kNumber,
     .scope = kRun,
     .part = kExempt,
     .summary = "time steps until they add up to S seconds, in place of the tier's length; with "
                "--steps, until both are reached",
     .value_name = "S",
     .low = 0,
     .high = kMostSeconds,
     .choose = elsewhere,
     .repeat = [](const Result& result) { return as_asked(result, "min_seconds"); }},
    {.name = "runs",
     .kind = kInteger,
     .scope = kRun,
     .part = kExempt,
     .summary = "results in the series, each from a process of its own",
     .low = 1,
     .high = kMostRuns,
     .choose =
         [](RunPlan& plan, const Setting& what) {
           const json asked = plan.asked("runs");
           plan.runs = integer_in_bounds(
               what, asked.is_null() ? plan.tier.runs : asked.get<std::int64_t>());
           if (plan.dry_run) plan.runs = 1;
           plan.effective["runs"] = plan.runs;
         },
     .repeat = [](const Result&) { return json(1); }},
    {.name = "division",
     .scope = kRun,
     .part = kExempt,
     .summary = "closed refuses departures from the rules; open lists them",
     .value_name = "NAME",
     .choose =
         [](RunPlan& plan, const Setting&) {
           const json asked = plan.asked("division");
           if (asked.is_null()) return;
           plan.division = choose_known("division", asked.get<std::string>(), {"closed", "open"});
         },
     .repeat = nothing},
    {.name = "quality_target",
     .kind = kNumber,
     .scope = kRun,
     .summary = "another target than that of the rules; the division is open",
     .value_name = "X",
     .low = std::numeric_limits<double>::lowest(),
     .high = std::numeric_limits<double>::max(),
     .choose = elsewhere},
    {.name = "dry_run",
     .kind = kFlag,
     .scope = kRun,
     .part = kExempt,
     .summary = "prove that everything is in place: 3 steps, status dry-run",
     .choose = elsewhere,
     .repeat =
         [](const Result& result) {
           return result.status.state == RunState::kDryRun ? json(true) : json();
         }},
    {.name = "warmup_steps", .scope = kNone, .part = kExempt, .choose = elsewhere},
    {.name = "min_steps", .scope = kNone, .part = kExempt, .choose = elsewhere},
    {.name = "max_seconds", .scope = kNone, .part = kExempt, .choose = elsewhere},
});
const RegisterSettings registered_of_processes(process_settings());
const RegisterSettings registered_of_scenarios(scenario_settings());

}  // namespace

std::int64_t integer_in_bounds(const Setting& what, std::int64_t value) {
  return in_range(fmt::format("--{} {}", what.option(), value), value,
                  static_cast<std::int64_t>(what.low), static_cast<std::int64_t>(what.high));
}

const std::vector<std::string>& choices_of(const Setting& setting, const WorkloadInfo& workload) {
  const auto offered = workload.offers.find(setting.name);
  return offered == workload.offers.end() ? setting.choices : offered->second;
}

json checked(const RunPlan& plan, const Setting& what) {
  json value = value_of(plan, what);
  if (value.is_null()) return value;
  if (const std::string misfit = what.misfit(value); !misfit.empty()) {
    throw Error("--" + what.option() + " " + printable(value.dump(), 60), misfit);
  }
  const auto& choices = choices_of(what, plan.workload->info);
  if (!value.is_string() || choices.empty()) return value;
  const auto name = value.get<std::string>();
  const auto in = [&](const auto& list) { return std::count(list.begin(), list.end(), name) > 0; };
  if (!in(choices) && in(what.choices)) {
    throw Error("--" + what.option() + " " + name,
                "workload '" + plan.workload->info.name + "' does not offer it",
                "its choices: " + join(choices, ", "));
  }
  return choose_known(what.option().c_str(), name, choices);
}

void choose_settings(RunPlan& plan) {
  for (const auto& setting : SettingTable::instance().list()) {
    if (setting->choose) {
      setting->choose(plan, *setting);
      continue;
    }
    const json value = checked(plan, *setting);
    plan.effective[setting->name] = value;
    plan.context.chosen[setting->name] =
        value.is_string() ? value.get<std::string>() : value.dump();
  }
}

RunRequest request_from_result(const Result& result) {
  RunRequest request;
  for (const auto& setting : SettingTable::instance().list()) {
    if (setting->scope == kNone) continue;
    json value = setting->repeat ? setting->repeat(result)
                                 : result.settings.effective.value(setting->name, json());
    if (value.is_null()) continue;
    if (const std::string misfit = setting->misfit(value); !misfit.empty()) {
      throw Error("setting " + setting->name + " of the result",
                  printable(value.dump(), 60) + " " + misfit);
    }
    request[setting->name] = std::move(value);
  }
  for (const auto& [name, value] : result.settings.effective.items()) {
    if (SettingTable::instance().find(name) != nullptr) continue;
    throw Error("setting " + printable(name, 60) + " of the result",
                "this version has no such setting", "repeat it with the version that made it");
  }
  return request;
}

}  // namespace harness
