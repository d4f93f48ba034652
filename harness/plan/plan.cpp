#include "harness/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/number.hpp"
#include "harness/base/random.hpp"
#include "harness/base/text.hpp"
#include "harness/plan/division.hpp"
#include "harness/plan/extent.hpp"
#include "harness/plan/settings.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/workload/rules_file.hpp"
#include "harness/workload/task_file.hpp"

namespace harness {
namespace {

using nlohmann::json;

std::uint32_t choose_seed(const RunRequest& request, const Tier& tier) {
  if (request.drawn_seed) return *request.drawn_seed;
  if (const auto asked = request.settings.find("seed"); asked != request.settings.end()) {
    const auto seed = asked->get<std::int64_t>();
    return static_cast<std::uint32_t>(in_range(fmt::format("--seed {}", seed), seed, 0,
                                               std::numeric_limits<std::uint32_t>::max()));
  }
  if (tier.seed) return *tier.seed;
  return std::random_device{}();  // the operating system's entropy
}

/// A dry run of what is not counted in steps is one of steps: a trend shows after a few.
void choose_scenario(RunPlan& plan) {
  plan.scenario = &find_scenario(plan.requested.value("scenario", plan.tier.scenario));
  const ScenarioInfo& info = plan.scenario->info();
  // A copy first: it is a part of what is replaced.
  const Tier in_scenario = plan.tier.in_scenario(info.name);
  plan.tier = in_scenario;
  const std::string misfit = scenario_misfit(info, plan.tier);
  if (!misfit.empty()) {
    throw Error("--scenario " + info.name,
                fmt::format("tier '{}' of '{}' does not serve it: {}", plan.tier_name,
                            plan.workload->info.name, misfit),
                "choose another tier; 'harness list' shows them");
  }
  for (const TierKey& key : info.keys) plan.tier.more.emplace(key.name, key.otherwise);
  plan.context.samples_in_memory = static_cast<std::int64_t>(
      plan.tier.key("samples_in_memory", static_cast<double>(plan.context.samples_in_memory)));
  if (plan.dry_run && !info.reads_key("min_steps")) plan.scenario = &find_scenario("steps");
}

/// Neighbouring values give unrelated streams.
std::uint32_t mix(std::uint64_t value) {
  return static_cast<std::uint32_t>(splitmix64(value, 0) >> 32);
}

/// Of the closed division. A scenario that the tier does not name comes first: other departures may
/// follow from it.
void refuse_departures(const RunPlan& plan) {
  if (plan.departures.empty()) return;
  const std::string& scenario = plan.scenario->info().name;
  const std::vector<std::string> named = plan.rules.tier(plan.tier_name).scenario_names();
  const bool unnamed = std::find(named.begin(), named.end(), scenario) == named.end();
  const Departure& first = plan.departures.front();
  throw Error("--division closed",
              unnamed && !plan.dry_run
                  ? fmt::format("tier '{}' of {} does not name scenario '{}'; it names {}",
                                plan.tier_name, plan.rules.file, scenario, join(named, ", "))
                  : fmt::format("{} is {} but {} asks for {}", first.path, first.actual,
                                plan.rules.file, first.expected),
              "leave it as the rules have it, or use --division open");
}

}  // namespace

Seeds derive_seeds(std::uint32_t run_seed, const std::vector<std::string>& more) {
  const std::uint64_t base = std::uint64_t{run_seed} << 8;
  Seeds seeds{run_seed, mix(base + 1), mix(base + 2), mix(base + 3)};
  // By the name alone, so that one more kind leaves the others' draws alone.
  for (const std::string& name : more) {
    seeds.more[name] = mix(base ^ std::stoull(sha256_hex(name).substr(0, 16), nullptr, 16));
  }
  return seeds;
}

std::uint32_t series_seed(std::uint32_t first, std::int64_t index) {
  return index == 1 ? first : mix((std::uint64_t{first} << 16) + static_cast<std::uint64_t>(index));
}

Rules rules_for(const RunRequest& request, const std::filesystem::path& home) {
  const std::string file = request.text("rules");
  const std::string task = request.text("task");
  const std::string workload = request.text("workload");
  // The registry knows the names that are nearest to a wrong one.
  if (file.empty() && task.empty())
    return load_rules(home, WorkloadRegistry::instance().get(workload).info.name, scenario_infos());
  if (!file.empty() && !task.empty()) {
    throw Error("--task " + printable(task), "a task is a file of rules itself",
                "leave --rules out");
  }
  Rules rules = task.empty() ? load_rules_file(file, home, scenario_infos())
                             : load_task_file(task, home, scenario_infos());
  if (workload.empty() || workload == rules.workload) return rules;
  throw Error("--workload " + printable(workload),
              fmt::format("the rules given with --{} are for '{}'", task.empty() ? "rules" : "task",
                          printable(rules.workload)),
              "leave --workload out");
}

RunPlan make_plan(const RunRequest& request, const std::filesystem::path& home) {
  RunPlan plan;
  const Rules rules = rules_for(request, home);
  plan.workload = &WorkloadRegistry::instance().get(rules.workload);
  plan.tier_name = request.settings.value("tier", rules.default_tier);
  plan.tier = rules.tier(plan.tier_name);
  plan.requested = request.settings;
  plan.rank_share = request.rank_share;
  plan.requested["workload"] = rules.workload;
  plan.dry_run = request.settings.value("dry_run", false);
  plan.context.home = home;
  plan.context.give_up = stop_at_once;
  choose_scenario(plan);
  plan.rules = rules.in_tier(plan.tier_name, plan.scenario->info().name);
  plan.context.calibration = plan.rules.calibration;
  plan.context.seeds = derive_seeds(choose_seed(request, plan.tier), plan.scenario->info().seeds);
  choose_settings(plan);
  choose_extent(plan);

  const json document = {
      {"settings", {{"requested", plan.requested}, {"effective", plan.effective}}},
      {"kernels", plan.context.kernels}};
  const std::string& scenario = plan.scenario->info().name;
  plan.departures = tier_departures(plan.rules, plan.tier_name, scenario, document.at("settings"));
  add_departures(plan.departures,
                 length_departures(plan.rules, plan.tier_name, scenario, document.at("settings")));
  add_departures(plan.departures, rules_departures(plan.rules));
  if (!plan.dry_run) {
    add_departures(plan.departures, scenario_departures(plan.rules, plan.tier_name, scenario));
  }
  for (const char* part : {"/settings/", "/kernels/"}) {
    add_departures(plan.departures, find_departures(plan.rules.closed, document, part));
  }
  if (plan.division == "closed") refuse_departures(plan);
  return plan;
}

}  // namespace harness
