#include "harness/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/plan/division.hpp"
#include "harness/system/affinity.hpp"
#include "harness/workload/rules_file.hpp"

namespace harness {
namespace {

using nlohmann::json;

// A dry run proves that everything is in place; three steps show a trend and cost little.
constexpr std::int64_t kDryRunWarmup = 1;
constexpr std::int64_t kDryRunSteps = 2;

template <class Number>
Number option_in_range(const char* option, Number value, Number low, Number high) {
  return in_range(fmt::format("--{} {}", option, value), value, low, high);
}

std::string default_of(const Rules& rules, const std::string& key, const std::string& otherwise) {
  const auto found = rules.defaults.find(key);
  return found == rules.defaults.end() ? otherwise : found->second;
}

std::map<std::string, std::string> parse_settings(const std::vector<std::string>& given,
                                                  const WorkloadInfo& info) {
  std::map<std::string, std::string> settings;
  std::vector<std::string> keys;
  for (const SettingInfo& setting : info.settings) {
    settings[setting.key] = setting.default_value;
    keys.push_back(setting.key);
  }
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

std::uint32_t choose_seed(const RunRequest& request, const Tier& tier) {
  if (request.drawn_seed) return *request.drawn_seed;
  if (request.seed) {
    return static_cast<std::uint32_t>(option_in_range<std::int64_t>(
        "seed", *request.seed, 0, std::numeric_limits<std::uint32_t>::max()));
  }
  if (tier.seed) return *tier.seed;
  return std::random_device{}();  // the operating system's entropy
}

int choose_threads(const RunRequest& request, const std::vector<int>& cpus) {
  const UsableCpus here = usable_cpus();
  const int usable = cpus.empty() ? here.count : static_cast<int>(cpus.size());
  // Two hardware threads of one core share its FMA units: a thread a core is the better default.
  if (!request.threads) return cpus.empty() ? std::min(here.physical_cores, usable) : usable;
  if (*request.threads > usable) {
    throw Error(fmt::format("--threads {}", *request.threads),
                usable == 1 ? "only 1 CPU is usable here"
                            : fmt::format("only {} CPUs are usable here", usable),
                "fewer threads, or a wider --cpus");
  }
  return static_cast<int>(option_in_range<std::int64_t>("threads", *request.threads, 1, usable));
}

/// What replaces the tier's length replaces both its parts: three steps are three, whatever seconds
/// the tier asks for.
void choose_length(RunPlan& plan, const RunRequest& request) {
  if (!request.steps && !request.min_seconds) return;
  const char* option = request.steps ? "--steps" : "--min-seconds";
  Tier& tier = plan.tier;
  if (tier.trains_to_target()) {
    throw Error(option,
                fmt::format("tier '{}' of '{}' trains to a target, and is as long as that takes",
                            plan.tier_name, plan.rules.workload),
                "choose another tier; 'harness list' shows them");
  }
  if (plan.dry_run)
    throw Error(option, "a dry run has a length of its own", "leave one of them out");
  tier.min_steps = option_in_range<std::int64_t>("steps", request.steps.value_or(1), 1,
                                                 plan.scenario->info().most_units);
  // Beyond the tier's own limit it would only be cut off.
  const double most = tier.max_seconds > 0 ? tier.max_seconds : kMostSeconds;
  tier.min_seconds = option_in_range("min-seconds", request.min_seconds.value_or(0), 0.0, most);
}

/// A dry run of training is one of steps: a trend shows after a few.
void choose_scenario(RunPlan& plan, const RunRequest& request) {
  if (plan.dry_run && plan.tier.trains_to_target()) {
    plan.scenario = &find_scenario("steps");
    return;
  }
  plan.scenario = &find_scenario(request.scenario.value_or(plan.tier.scenario));
  const ScenarioInfo& info = plan.scenario->info();
  const std::string misfit = scenario_misfit(info, plan.tier);
  if (!misfit.empty()) {
    throw Error("--scenario " + info.name,
                fmt::format("tier '{}' of '{}' does not serve it: {}", plan.tier_name,
                            plan.rules.workload, misfit),
                "choose another tier; 'harness list' shows them");
  }
  for (const TierKey& key : info.keys) plan.tier.more.emplace(key.name, key.otherwise);
}

void choose_target(RunPlan& plan, const RunRequest& request) {
  const std::string& name = plan.rules.workload;
  if (request.max_epochs) {
    if (!plan.tier.trains_to_target()) {
      throw Error("--max-epochs",
                  fmt::format("tier '{}' of '{}' does not train to a target", plan.tier_name, name),
                  "'harness list' shows the tiers");
    }
    plan.tier.max_epochs =
        option_in_range<std::int64_t>("max-epochs", *request.max_epochs, 1, kMostEpochs);
  }
  if (!plan.rules.quality) {
    if (!request.quality_target) return;
    throw Error("--quality-target", "workload '" + name + "' has no quality target");
  }
  const QualityRule& rule = *plan.rules.quality;
  plan.quality_target = request.quality_target.value_or(rule.target);
  plan.context.quality_metric = rule.metric;
  const std::string trouble = target_misfit(rule, *plan.quality_target);
  if (!trouble.empty()) {
    throw Error(fmt::format("--quality-target {}", *plan.quality_target), trouble);
  }
}

template <class T>
void note(json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

json requested_settings(const RunRequest& request) {
  json object = json::object();
  object["workload"] = request.workload;
  note(object, "tier", request.tier);
  note(object, "scenario", request.scenario);
  note(object, "kernels", request.kernels);
  note(object, "precision", request.precision);
  note(object, "allocator", request.allocator);
  note(object, "cpus", request.cpus);
  note(object, "data", request.data);
  note(object, "division", request.division);
  note(object, "batch_size", request.batch_size);
  note(object, "threads", request.threads);
  note(object, "seed", request.seed);
  note(object, "runs", request.runs);
  note(object, "steps", request.steps);
  note(object, "min_seconds", request.min_seconds);
  note(object, "max_epochs", request.max_epochs);
  note(object, "quality_target", request.quality_target);
  if (!request.set.empty()) object["set"] = request.set;
  if (request.dry_run) object["dry_run"] = true;
  return object;
}

json effective_settings(const RunPlan& plan, const RunRequest& request) {
  const WorkloadContext& context = plan.context;
  return {
      {"tier", plan.tier_name},
      {"batch_size", context.batch_size},
      {"threads", context.threads},
      {"cpus", request.cpus ? json(*request.cpus) : json()},
      {"precision", context.precision},
      {"allocator", context.allocator},
      {"seed", context.seeds.run},
      {"runs", plan.runs},
      {"data", request.data ? json(*request.data) : json()},
      {"quality_target", plan.quality_target ? json(*plan.quality_target) : json()},
      {"warmup_steps", plan.tier.warmup_steps},
      {"min_steps", plan.tier.min_steps},
      {"min_seconds", plan.tier.min_seconds},
      {"max_seconds", plan.tier.max_seconds},
      {"max_epochs", plan.tier.trains_to_target() ? json(plan.tier.max_epochs) : json()},
      {"set", context.settings},
  };
}

// splitmix64's finaliser: neighbouring run seeds give unrelated streams.
std::uint32_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return static_cast<std::uint32_t>((value ^ (value >> 31)) >> 32);
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

RunPlan make_plan(const RunRequest& request, const std::filesystem::path& home) {
  RunPlan plan;
  plan.workload = &WorkloadRegistry::instance().get(request.workload);
  const WorkloadInfo& info = plan.workload->info;
  const Rules rules = load_rules(home, info.name, scenario_infos());
  plan.tier_name = request.tier.value_or(rules.default_tier);
  plan.tier = rules.tier(plan.tier_name);
  plan.rules = rules.in_tier(plan.tier_name);
  plan.dry_run = request.dry_run;
  plan.requested = requested_settings(request);
  choose_scenario(plan, request);
  if (request.division)
    plan.division = choose_known("division", *request.division, {"closed", "open"});
  if (request.cpus) plan.cpus = parse_cpu_list(*request.cpus);

  WorkloadContext& context = plan.context;
  context.home = home;
  context.kernels = parse_kernels(
      request.kernels.value_or(default_of(plan.rules, "kernels", "reference")), info.operators);
  context.precision = choose_known(
      "precision", request.precision.value_or(default_of(plan.rules, "precision", "fp32")),
      info.precisions);
  context.allocator = choose_known(
      "allocator", request.allocator.value_or(default_of(plan.rules, "allocator", "system")),
      info.allocators);
  context.batch_size =
      option_in_range<std::int64_t>("batch-size", request.batch_size.value_or(plan.tier.batch_size),
                                    1, std::numeric_limits<std::int32_t>::max());
  context.threads = choose_threads(request, plan.cpus);
  context.seeds = derive_seeds(choose_seed(request, plan.tier), plan.scenario->info().seeds);
  context.settings = parse_settings(request.set, info);
  if (request.data) {
    if (!info.uses_data) throw Error("--data", "workload '" + info.name + "' takes no data");
    context.data_dir = *request.data;
  }
  plan.runs =
      option_in_range<std::int64_t>("runs", request.runs.value_or(plan.tier.runs), 1, kMostRuns);
  choose_length(plan, request);
  choose_target(plan, request);
  if (plan.dry_run) {
    plan.runs = 1;
    plan.tier.max_epochs = 0;
    plan.tier.warmup_steps = kDryRunWarmup;
    plan.tier.min_steps = kDryRunSteps;
    plan.tier.min_seconds = 0;
  }
  context.max_epochs = plan.tier.max_epochs;
  context.planned_steps = plan.tier.min_seconds > 0 || plan.tier.trains_to_target()
                              ? 0
                              : plan.tier.warmup_steps + plan.tier.min_steps;
  plan.effective = effective_settings(plan, request);

  const json document = {
      {"settings", {{"requested", plan.requested}, {"effective", plan.effective}}},
      {"kernels", context.kernels}};
  plan.departures = tier_departures(plan.rules, plan.tier_name, document.at("settings"));
  add_departures(plan.departures,
                 length_departures(plan.rules, plan.tier_name, document.at("settings")));
  if (!plan.dry_run) {
    add_departures(plan.departures,
                   scenario_departures(plan.rules, plan.tier_name, plan.scenario->info().name));
  }
  for (const char* part : {"/settings/", "/kernels/"}) {
    add_departures(plan.departures, find_departures(plan.rules.closed, document, part));
  }
  if (plan.division == "closed" && !plan.departures.empty()) {
    const Departure& first = plan.departures.front();
    throw Error("--division closed",
                fmt::format("{} is {} but {} asks for {}", first.path, first.actual,
                            plan.rules.file, first.expected),
                "leave it as the rules have it, or use --division open");
  }
  return plan;
}

RunRequest request_from_result(const Result& result) {
  const json& effective = result.settings.effective;
  RunRequest request;
  request.workload = result.rules.workload;
  request.tier = result.rules.tier;
  const auto take = [&](const char* key, auto& field) {
    if (!effective.contains(key) || effective.at(key).is_null()) return;
    field = effective.at(key).get<typename std::decay_t<decltype(field)>::value_type>();
  };
  take("precision", request.precision);
  take("allocator", request.allocator);
  take("cpus", request.cpus);
  take("data", request.data);
  take("batch_size", request.batch_size);
  take("threads", request.threads);
  take("quality_target", request.quality_target);
  take("max_epochs", request.max_epochs);
  // A tier's own length is not repeated: the tier is.
  const json& asked = result.settings.requested;
  if (asked.contains("scenario")) request.scenario = asked.at("scenario").get<std::string>();
  if (asked.contains("steps")) request.steps = asked.at("steps").get<std::int64_t>();
  if (asked.contains("min_seconds")) request.min_seconds = asked.at("min_seconds").get<double>();
  request.seed = result.seeds.run;
  request.runs = 1;
  std::vector<std::string> kernels;
  for (const auto& [name, implementation] : result.kernels) {
    kernels.push_back(name + "=" + implementation);
  }
  if (!kernels.empty()) request.kernels = join(kernels, ",");
  if (effective.contains("set")) {
    for (const auto& [key, value] : effective.at("set").items()) {
      request.set.push_back(key + "=" + value.get<std::string>());
    }
  }
  request.dry_run = result.status.state == RunState::kDryRun;
  return request;
}

}  // namespace harness
