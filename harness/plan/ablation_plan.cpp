#include "harness/plan/ablation_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/plan/division.hpp"
#include "harness/plan/settings.hpp"
#include "harness/result/setting.hpp"
#include "harness/workload/ablation_rules.hpp"

namespace harness {
namespace {

using nlohmann::json;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string missing_kernel(const std::string& name, const std::string& implementation,
                           const WorkloadInfo& info) {
  for (const OperatorInfo& known : info.operators) {
    if (known.name != name) continue;
    for (const ImplementationInfo& item : known.implementations) {
      if (item.name != implementation) continue;
      if (item.unavailable.empty()) return {};
      return fmt::format("{}={} cannot run on this machine: {}", name, implementation,
                         item.unavailable);
    }
    return fmt::format("operator {} has no implementation '{}' in this version", name,
                       implementation);
  }
  return fmt::format("the workload has no operator {} in this version", name);
}

const AblationRule& ablation_of(const Rules& rules) {
  if (rules.ablation) return *rules.ablation;
  throw Error("ablation of '" + rules.workload + "'", rules.file + " has no section 'ablation'",
              "rules/README.md describes it");
}

void check_names(const std::vector<std::string>& asked, const AblationRule& rule) {
  std::vector<std::string> known;
  for (const VariantRule& variant : rule.variants) known.push_back(variant.name);
  for (const std::string& name : asked) {
    if (!contains(known, name)) {
      throw Error("--variants '" + printable(name) + "'", "unknown", did_you_mean(name, known));
    }
  }
}

RunRequest request_of(const RunRequest& common, const VariantSettings& settings) {
  RunRequest request = common;
  std::vector<std::string> kernels;
  for (const auto& [name, implementation] : settings.kernels) {
    kernels.push_back(name + "=" + implementation);
  }
  request["kernels"] = kernels.empty() ? "reference" : join(kernels, ",");
  for (const auto& [name, value] : settings.chosen) request[name] = value;
  return request;
}

json requested_settings(const AblationRequest& request, const RunPlan& plan) {
  json requested = plan.requested;
  for (const auto& setting : SettingTable::instance().list()) {
    if (setting->scope == SettingScope::kVariant) requested.erase(setting->name);
  }
  if (!request.common.settings.contains("seed")) requested.erase("seed");
  if (request.rounds) requested["rounds"] = *request.rounds;
  if (!request.variants.empty()) requested["variants"] = join(request.variants, ",");
  return requested;
}

json effective_settings(const AblationPlan& plan) {
  json effective = json::object();
  const RunPlan& first = plan.variants.front().plan;
  for (const auto& [name, value] : first.effective.items()) {
    const Setting* setting = SettingTable::instance().find(name);
    if (setting != nullptr && setting->scope == SettingScope::kCommon) effective[name] = value;
  }
  for (const char* name : {"tier", "quality_target"}) effective[name] = first.effective.at(name);
  effective["warmup_rounds"] = plan.warmup_rounds;
  effective["rounds"] = plan.rounds;
  effective["steps_per_turn"] = plan.steps_per_turn;
  return effective;
}

}  // namespace

VariantSettings variant_settings_of(const RunPlan& plan) {
  VariantSettings settings{{}, plan.context.kernels};
  for (const auto& [name, value] : standard_variant().chosen) {
    settings.chosen[name] = plan.effective.at(name);
  }
  return settings;
}

std::string missing_part(const VariantSettings& settings, const WorkloadInfo& info) {
  for (const auto& [name, value] : settings.chosen) {
    const auto& choices = choices_of(*SettingTable::instance().find(name), info);
    if (choices.empty() || contains(choices, value)) continue;
    return fmt::format("the workload has no {} '{}' in this version", name, value);
  }
  for (const auto& [name, implementation] : settings.kernels) {
    std::string missing = missing_kernel(name, implementation, info);
    if (!missing.empty()) return missing;
  }
  return {};
}

AblationPlan make_ablation_plan(const AblationRequest& request, const std::filesystem::path& home) {
  const Rules rules = rules_for(request.common, home);
  const WorkloadInfo& info = WorkloadRegistry::instance().get(rules.workload).info;
  const AblationRule& rule = ablation_of(rules);
  check_names(request.variants, rule);

  AblationPlan plan;
  plan.warmup_rounds = rule.warmup_rounds;
  plan.rounds = request.rounds.value_or(rule.rounds);
  plan.steps_per_turn = rule.steps_per_turn;
  in_range(fmt::format("--rounds {}", plan.rounds), plan.rounds, std::int64_t{1}, kMostRounds);
  RunRequest common = request.common;
  std::vector<std::string> measured;
  for (const VariantRule& variant : rule.variants) {
    const bool named = contains(request.variants, variant.name);
    if (!request.variants.empty() && !named) continue;
    const std::string missing = missing_part(variant.settings, info);
    if (!missing.empty() && named) throw Error("--variants '" + variant.name + "'", missing);
    if (!missing.empty()) {
      plan.left_out.push_back({variant.name, missing});
      continue;
    }
    RunPlan run = make_plan(request_of(common, variant.settings), home);
    run.context.planned_steps = (plan.warmup_rounds + plan.rounds) * plan.steps_per_turn;
    // Drawn once, where the rules leave it to chance.
    common["seed"] = run.context.seeds.run;
    plan.variants.push_back({variant.name, variant.summary,
                             nearest_base(rule, variant.name, measured), std::move(run)});
    measured.push_back(variant.name);
  }
  if (plan.variants.empty()) {
    throw Error("ablation of '" + info.name + "'", "no variant can run here",
                plan.left_out.front().name + ": " + plan.left_out.front().reason);
  }
  plan.requested = requested_settings(request, plan.variants.front().plan);
  plan.effective = effective_settings(plan);
  for (const Departure& departure : plan.variants.front().plan.departures) {
    if (!set_by_variants(departure.path)) plan.departures.push_back(departure);
  }
  const json settings = {{"requested", plan.requested}, {"effective", plan.effective}};
  add_departures(plan.departures,
                 tier_departures(rules, plan.variants.front().plan.tier_name, settings));
  return plan;
}

}  // namespace harness
