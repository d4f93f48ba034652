#include "harness/plan/ablation_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/plan/division.hpp"
#include "harness/plan/settings.hpp"
#include "harness/result/setting.hpp"
#include "harness/system/affinity.hpp"
#include "harness/workload/ablation_rules.hpp"
#include "harness/workload/model_task.hpp"

namespace harness {
namespace {

using nlohmann::json;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string missing_kernel(const std::string& name, const std::string& implementation,
                           const WorkloadInfo& info) {
  const OperatorInfo* known = find_named(info.operators, name);
  if (known == nullptr) {
    return fmt::format("the workload has no operator {} in this version", name);
  }
  const ImplementationInfo* item = find_named(known->implementations, implementation);
  if (item == nullptr) {
    return fmt::format("operator {} has no implementation '{}' in this version", name,
                       implementation);
  }
  if (item->unavailable.empty()) return {};
  return fmt::format("{}={} cannot run on this machine: {}", name, implementation,
                     item->unavailable);
}

const AblationRule& ablation_of(const Rules& rules) {
  if (rules.ablation) return *rules.ablation;
  throw Error("ablation of '" + rules.workload + "'", rules.file + " has no section 'ablation'",
              "rules/README.md describes it");
}

void check_names(const std::vector<std::string>& asked, const AblationRule& rule) {
  const std::vector<std::string> known = names_of(rule.variants);
  for (const std::string& name : asked) {
    if (!contains(known, name)) {
      throw Error("--variants '" + printable(name) + "'", "unknown", did_you_mean(name, known));
    }
  }
}

/// It goes into file names and into the result, as a variant's does.
bool is_variant_name(const std::string& name) {
  constexpr std::size_t kMostBytes = 128;
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '+' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kMostBytes &&
         std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), fits);
}

std::vector<PeerCommand> peers_of(const std::vector<std::string>& given, const AblationRule& rule) {
  std::vector<PeerCommand> peers;
  for (const std::string& item : given) {
    const std::string what = "--peer '" + printable(item, 80) + "'";
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals + 1 == item.size()) {
      throw Error(what, "has no command", "write --peer NAME='COMMAND'");
    }
    PeerCommand peer{item.substr(0, equals), item.substr(equals + 1)};
    if (!is_variant_name(peer.name)) {
      throw Error(what, "its name is none", "letters, digits, '.', '_', '+' and '-'");
    }
    if (find_named(rule.variants, peer.name) != nullptr ||
        find_named(peers, peer.name) != nullptr) {
      throw Error(what, "the name is taken", "choose another one");
    }
    peers.push_back(std::move(peer));
  }
  return peers;
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
  if (request.clusters) requested["clusters"] = *request.clusters;
  if (!request.variants.empty()) requested["variants"] = join(request.variants, ",");
  return requested;
}

json effective_settings(const AblationPlan& plan) {
  json effective = json::object();
  const RunPlan& first = plan.variants.front().plan;
  for (const VariantPlan& variant : plan.variants) {
    for (const auto& [name, value] : variant.plan.effective.items()) {
      const Setting* setting = SettingTable::instance().find(name);
      if (setting == nullptr || setting->scope != SettingScope::kCommon) continue;
      // What one variant has no use for (a table of kernels) another may have.
      if (!effective.contains(name) || effective[name].is_null()) effective[name] = value;
    }
  }
  for (const char* name : {"tier", "quality_target", "warmup_steps"}) {
    effective[name] = first.effective.at(name);
  }
  effective["rounds"] = plan.rounds;
  effective["clusters"] = plan.clusters;
  effective["steps_per_turn"] = plan.steps_per_turn;
  return effective;
}

void refuse_target(const RunPlan& run) {
  if (!run.scenario->info().to_target) return;
  throw Error("ablation of '" + run.rules.workload + "'",
              "tier '" + run.tier_name + "' trains to a target, step by step nothing can be told",
              "rules with another default tier");
}

AblationPlan planned_lengths(const AblationRequest& request, const AblationRule& rule) {
  AblationPlan plan;
  plan.clusters = request.clusters.value_or(rule.clusters);
  plan.steps_per_turn = rule.steps_per_turn;
  if (request.rounds) {
    in_range(fmt::format("--rounds {}", *request.rounds), *request.rounds, std::int64_t{1},
             kMostRounds);
  }
  in_range(fmt::format("--clusters {}", plan.clusters), plan.clusters, std::int64_t{1},
           kMostClusters);
  return plan;
}

/// The fewest, but not below `least`, in which each of `sides` has each place equally often.
std::int64_t whole_turns(std::int64_t least, std::size_t sides) {
  const auto n = static_cast<std::int64_t>(sides);
  return std::min(kMostRounds, (least + n - 1) / n * n);
}

/// What follows from the variants, which are chosen.
void complete(AblationPlan& plan, const AblationRequest& request, const Rules& rules) {
  const std::size_t sides = plan.variants.size() + plan.peers.size();
  plan.rounds = request.rounds.value_or(whole_turns(ablation_of(rules).rounds, sides));
  plan.requested = requested_settings(request, plan.variants.front().plan);
  plan.effective = effective_settings(plan);
  for (const Departure& departure : plan.variants.front().plan.departures) {
    if (!set_by_variants(departure.path)) plan.departures.push_back(departure);
  }
  const json settings = {{"requested", plan.requested}, {"effective", plan.effective}};
  const RunPlan& first = plan.variants.front().plan;
  add_departures(plan.departures,
                 tier_departures(rules, first.tier_name, first.scenario->info().name, settings));
}

/// Why int8 is not measured where nobody named it; empty where it is.
std::string int8_misfit(const Rules& rules, const RunRequest& common, bool named) {
  if (rules.calibration.empty()) return "the rules list no samples to calibrate int8 by";
  const bool own_data = !common.settings.value("data", nlohmann::json()).is_null();
  return own_data && !named ? "int8 is calibrated on training samples of the default data" : "";
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

  AblationPlan plan = planned_lengths(request, rule);
  plan.peers = peers_of(request.peers, rule);
  RunRequest common = request.common;
  std::vector<std::string> measured;
  for (const VariantRule& variant : rule.variants) {
    const bool named = contains(request.variants, variant.name);
    if (!request.variants.empty() && !named) continue;
    std::string missing = missing_part(variant.settings, info);
    const auto precision = variant.settings.chosen.find("precision");
    if (missing.empty() && rules.model && precision != variant.settings.chosen.end()) {
      missing = precision_misfit(*rules.model, precision->second);
    }
    const bool int8 = precision != variant.settings.chosen.end() && precision->second == "int8";
    if (missing.empty() && int8) missing = int8_misfit(rules, common, named);
    if (!missing.empty() && named) throw Error("--variants '" + variant.name + "'", missing);
    if (!missing.empty()) {
      plan.left_out.push_back({variant.name, missing});
      continue;
    }
    RunPlan run = make_plan(request_of(common, variant.settings), home);
    refuse_target(run);
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
  const std::size_t sides = plan.variants.size() + plan.peers.size();
  if (sides > kMostVariants) {
    throw Error("--peer",
                fmt::format("{} variants and {} peers are more than the {} of a result",
                            plan.variants.size(), plan.peers.size(), kMostVariants),
                "fewer peers, or fewer variants by --variants");
  }
  complete(plan, request, rules);
  return plan;
}

AblationPlan make_scale_plan(const ScaleRequest& request, const std::filesystem::path& home) {
  const Rules rules = rules_for(request.common, home);
  AblationRequest common{
      .common = request.common, .rounds = request.rounds, .clusters = request.clusters};
  AblationPlan plan = planned_lengths(common, ablation_of(rules));
  const std::vector<std::int64_t>& ranks = request.ranks;
  const bool rising =
      std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) == ranks.end();
  if (ranks.size() < 2 || ranks.size() > kMostVariants / 2 || !rising) {
    throw Error("--ranks", fmt::format("2 to {} numbers that rise are needed", kMostVariants / 2),
                "for example --ranks 1,2,4");
  }
  const std::int64_t most = ranks.back();
  if (!common.common.settings.contains("threads")) {
    const auto cpus = common.common.text("cpus");
    const auto all = static_cast<std::int64_t>(cpus.empty() ? usable_cpus().physical_cores
                                                            : parse_cpu_list(cpus).size());
    common.common["threads"] = std::max<std::int64_t>(1, all / most);
  }
  const auto add = [&](const char* kind, std::int64_t count, std::int64_t batch,
                       const std::string& builds_on) {
    RunRequest asked = common.common;
    asked["ranks"] = count;
    asked["batch_size"] = batch;
    RunPlan run = make_plan(asked, home);
    refuse_target(run);
    common.common["seed"] = run.context.seeds.run;
    plan.variants.push_back({kind + std::to_string(count),
                             fmt::format("{} of batch {}", format_count(count, "rank"), batch),
                             builds_on, std::move(run), true});
    return plan.variants.back().name;
  };
  const std::int64_t batch = make_plan(common.common, home).context.batch_size;
  std::string before;
  for (const std::int64_t count : ranks) before = add(kWeakWorld, count, batch, before);
  before.clear();
  for (const std::int64_t count : ranks) {
    // The largest world is there already.
    if (count == most) break;
    if (batch * most % count != 0) {
      throw Error("--ranks " + std::to_string(count),
                  fmt::format("do not share the {} of {} ranks evenly",
                              format_count(batch * most, "sample"), most),
                  "numbers of ranks that divide it, or another --batch-size");
    }
    before = add(kStrongWorld, count, batch * most / count, before);
  }
  complete(plan, common, rules);
  plan.effective["scaling"] = "ranks";
  return plan;
}

}  // namespace harness
