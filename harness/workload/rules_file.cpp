#include "harness/workload/rules_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/result/schema.hpp"
#include "harness/result/setting.hpp"
#include "harness/workload/ablation_rules.hpp"
#include "harness/workload/rules.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestRulesFile = 1 << 20;
// Of a tier, what not every scenario reads.
constexpr std::array kKeysOfSome = {"warmup_steps", "min_steps", "min_seconds", "max_epochs",
                                    "checkpoint_seconds"};

// What the schema does not say of a constraint; empty when all is well.
std::string misfit(const Constraint& constraint) {
  const std::string& op = constraint.op;
  const json& value = constraint.value;
  const auto needs = [&](const char* what) {
    return fmt::format("value: op {} needs {}, not {}", op, what, printable(value.dump(), 60));
  };
  if ((op == "at_least" || op == "at_most") && !value.is_number()) return needs("a number");
  if (op == "starts_with" && !value.is_string()) return needs("a text");
  if (op == "one_of" && (!value.is_array() || value.empty())) return needs("a list of values");
  if (op == "equals" && value.is_null()) return needs("a value");
  if (op == "present" && !value.is_null()) return needs("no value");
  try {
    const json::json_pointer pointer(constraint.path);
  } catch (const json::exception&) {
    return fmt::format("path: '{}' is no JSON pointer", printable(constraint.path));
  }
  return {};
}

/// `what` begins with the place in the file.
[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw Error(printable(file), printable(what, 1000),
              "mend the file; rules/README.md describes each field");
}

/// The list `key` of `document`, which stands at `where` in the file.
std::vector<Constraint> constraints_from_json(const json& document, const char* key,
                                              const std::string& where, const std::string& file) {
  std::vector<Constraint> constraints;
  if (!document.contains(key)) return constraints;
  for (const json& item : document.at(key)) {
    constraints.push_back({item.at("rule"), item.at("path"), item.at("op"),
                           item.value("value", json()), item.value("hint", "")});
    const std::string trouble = misfit(constraints.back());
    if (trouble.empty()) continue;
    refuse(file, fmt::format("{}/{}/{}/{}", where, key, constraints.size() - 1, trouble));
  }
  return constraints;
}

/// The target is that share, to the digits that it is given in.
FrozenQuality fp32_from_json(const json& object, const QualityRule& rule, const std::string& where,
                             const std::string& file) {
  constexpr double kDigits = 1e-4;
  FrozenQuality fp32{object.at("value"), object.at("share"), object.at("data_sha256")};
  const double wanted = fp32.value * fp32.share;
  if (std::abs(rule.target - wanted) < kDigits) return fp32;
  refuse(file, fmt::format("{}/quality/target: {} is not {} of the {} that fp32 reaches", where,
                           rule.target, fp32.share, fp32.value));
}

std::optional<QualityRule> quality_from_json(const json& document, const std::string& where,
                                             const std::string& file) {
  if (!document.contains("quality")) return std::nullopt;
  const json& object = document.at("quality");
  QualityRule rule{object.at("metric"),
                   object.at("direction") == "higher" ? Direction::kHigher : Direction::kLower,
                   object.at("target"),
                   {},
                   {},
                   {}};
  if (object.contains("lowest")) rule.lowest = object.at("lowest").get<double>();
  if (object.contains("highest")) rule.highest = object.at("highest").get<double>();
  if (object.contains("fp32")) rule.fp32 = fp32_from_json(object.at("fp32"), rule, where, file);
  const std::string trouble = target_misfit(rule, rule.target);
  if (!trouble.empty()) refuse(file, where + "/quality/target: " + trouble);
  return rule;
}

std::string scenario_of(const json& tier) {
  const auto named = tier.find("scenario");
  if (named == tier.end() || !named->is_string()) {
    return default_scenario(tier.contains("max_epochs"));
  }
  return named->get<std::string>();
}

/// Where a tier's scenario stands in the file.
std::string in_tier(const std::string& tier, const std::string& scenario) {
  return "/tiers/" + tier + "/scenarios/" + printable(scenario, 64);
}

/// Takes the tier's further scenarios out of it; each is the tier with its own words in place of
/// the tier's.
std::map<std::string, json> take_scenarios(json& tier, const std::string& where,
                                           const std::string& file) {
  std::map<std::string, json> others;
  const auto given = tier.find("scenarios");
  if (given == tier.end()) return others;
  if (!given->is_object() || given->size() > 16) {
    refuse(file, where + "/scenarios: is no object of at most 16 scenarios");
  }
  const json entries = *given;
  tier.erase("scenarios");
  for (const auto& [scenario, entry] : entries.items()) {
    if (!entry.is_object()) refuse(file, where + "/scenarios/" + scenario + ": is no object");
    for (const auto& [key, value] : entry.items()) {
      // A null would take the tier's own value away.
      const char* trouble = value.is_null()                           ? "is null"
                            : key == "scenario" || key == "scenarios" ? "stands in the tier alone"
                                                                      : nullptr;
      if (trouble == nullptr) continue;
      refuse(file, fmt::format("{}/scenarios/{}/{}: {}", where, scenario, key, trouble));
    }
    json& other = others[scenario] = tier;
    // As a whole: the bounds of the tier's metric are none of another metric's.
    if (entry.contains("quality")) other.erase("quality");
    other.merge_patch(entry);
    other["scenario"] = scenario;
  }
  return others;
}

/// Takes what is of the tier's scenario alone out of `tier`, which no schema was held against yet.
std::map<std::string, double> take_own_keys(json& tier, const ScenarioInfos& scenarios,
                                            const std::string& where, const std::string& file) {
  std::map<std::string, double> values;
  const auto scenario = scenarios.find(scenario_of(tier));
  if (scenario == scenarios.end()) return values;
  for (const TierKey& key : scenario->second.keys) {
    const auto given = tier.find(key.name);
    if (given == tier.end()) continue;
    const double value = given->is_number() ? given->get<double>() : std::nan("");
    if (!(value >= key.lowest && value <= key.highest) ||
        (key.whole && value != std::floor(value))) {
      refuse(file, fmt::format("{}/{}: {} is no {}number from {} to {}", where, key.name,
                               printable(given->dump(), 60), key.whole ? "whole " : "", key.lowest,
                               key.highest));
    }
    values[key.name] = value;
    tier.erase(key.name);
  }
  return values;
}

Tier tier_from_json(const json& document, const ScenarioInfos& scenarios,
                    std::map<std::string, double> own, const std::string& where,
                    const std::string& file) {
  Tier tier;
  tier.scenario = scenario_of(document);
  tier.more = std::move(own);
  for (const auto& [key, value] : tier.more) tier.given.push_back(key);
  for (const char* key : kKeysOfSome) {
    if (document.contains(key)) tier.given.emplace_back(key);
  }
  const auto scenario = scenarios.find(tier.scenario);
  if (scenario == scenarios.end()) {
    refuse(file, fmt::format("{}/scenario: there is no '{}' here: {}", where, tier.scenario,
                             did_you_mean(tier.scenario, names_of(scenarios))));
  }
  const std::string misfit = scenario_misfit(scenario->second, tier);
  if (!misfit.empty()) refuse(file, where + ": " + misfit);
  tier.summary = document.value("summary", "");
  tier.unavailable = document.value("unavailable", "");
  tier.batch_size = document.value("batch_size", tier.batch_size);
  tier.any_batch_size = document.value("any_batch_size", tier.any_batch_size);
  tier.max_epochs = document.value("max_epochs", tier.max_epochs);
  tier.checkpoint_seconds = document.value("checkpoint_seconds", tier.checkpoint_seconds);
  tier.warmup_steps = document.value("warmup_steps", tier.warmup_steps);
  tier.min_steps = document.value("min_steps", tier.min_steps);
  tier.min_seconds = document.value("min_seconds", tier.min_seconds);
  if (tier.min_steps > scenario->second.most_units) {
    refuse(file, fmt::format("{}/min_steps: scenario '{}' has {} at most", where, tier.scenario,
                             scenario->second.most_units));
  }
  tier.max_seconds = document.value("max_seconds", tier.max_seconds);
  if (tier.max_seconds > 0 && tier.min_seconds > tier.max_seconds) {
    refuse(file, fmt::format("{}/min_seconds: is {:g}, above max_seconds, {:g}", where,
                             tier.min_seconds, tier.max_seconds));
  }
  tier.runs = document.value("runs", tier.runs);
  if (document.contains("seed")) tier.seed = document.at("seed").get<std::uint32_t>();
  tier.instead.quality = quality_from_json(document, where, file);
  if (document.contains("mlperf_equivalent")) {
    tier.instead.mlperf_equivalent = document.at("mlperf_equivalent").get<bool>();
  }
  if (document.contains("closed")) {
    tier.instead.closed = constraints_from_json(document, "closed", where, file);
  }
  return tier;
}

void check_defaults(const std::map<std::string, std::string>& defaults, const std::string& file) {
  for (const auto& [name, value] : defaults) {
    const Setting* setting = SettingTable::instance().find(name);
    const std::string where = "/defaults/" + name + ": ";
    if (setting == nullptr) refuse(file, where + "there is no such setting");
    if (!setting->takes_default_of_rules()) refuse(file, where + "rules have no say in it");
    const std::string misfit = setting->misfit(setting->from_text(value));
    if (!misfit.empty()) refuse(file, where + "'" + value + "' " + misfit);
  }
}

}  // namespace

std::string rules_file_of(const std::string& workload) { return "rules/" + workload + ".json"; }

Rules load_rules(const std::filesystem::path& home, const std::string& workload,
                 const ScenarioInfos& scenarios) {
  const std::filesystem::path path = home / rules_file_of(workload);
  std::string content = read_file(path, kLargestRulesFile);
  // Thousands of results may be judged in one call, most of them by the same few files.
  static std::mutex mutex;
  static std::map<std::string, std::pair<std::string, Rules>> known;  // path -> text, rules
  const std::lock_guard<std::mutex> lock(mutex);
  const auto entry = known.find(path.string());
  if (entry != known.end() && entry->second.first == content) return entry->second.second;
  Rules rules = parse_rules(content, home, path, scenarios);
  if (rules.workload != workload) {
    throw Error(printable(path.string()),
                "its field 'workload' says '" + printable(rules.workload) + "'",
                "name the file after the workload");
  }
  rules.file = rules_file_of(workload);
  known.insert_or_assign(path.string(), std::pair(std::move(content), rules));
  return rules;
}

Rules load_rules_file(const std::filesystem::path& file, const std::filesystem::path& home,
                      const ScenarioInfos& scenarios) {
  return never_mlperfs(parse_rules(read_file(file, kLargestRulesFile), home, file, scenarios));
}

Rules never_mlperfs(Rules rules) {
  rules.mlperf_equivalent = false;
  for (auto& [name, tier] : rules.tiers) {
    tier.instead.mlperf_equivalent = false;
    for (Tier& other : tier.scenarios) other.instead.mlperf_equivalent = false;
  }
  return rules;
}

json read_rules_text(const std::filesystem::path& file) {
  return parse_json(read_file(file, kLargestRulesFile), file.string());
}

Rules parse_rules(const std::string& content, const std::filesystem::path& home,
                  const std::filesystem::path& path, const ScenarioInfos& scenarios) {
  json document = parse_json(content, path.string());
  if (document.is_object() && document.contains("model")) {
    throw Error(printable(path.string()), "is a task, which brings a model of its own",
                "give it with --task");
  }
  Rules rules = rules_from_document(std::move(document), home, path, scenarios);
  rules.sha256 = sha256_hex(content);
  return rules;
}

Rules rules_from_document(json document, const std::filesystem::path& home,
                          const std::filesystem::path& path, const ScenarioInfos& scenarios) {
  std::map<std::string, std::map<std::string, double>> own;   // tier -> keys of its scenario alone
  std::map<std::string, std::map<std::string, json>> others;  // tier -> as in other scenarios
  if (document.contains("tiers") && document.at("tiers").is_object()) {
    for (auto& [name, tier] : document.at("tiers").items()) {
      if (!tier.is_object()) continue;
      others[name] = take_scenarios(tier, "/tiers/" + name, path.string());
      own[name] = take_own_keys(tier, scenarios, "/tiers/" + name, path.string());
    }
  }
  std::map<std::string, std::map<std::string, double>> own_of_others;
  for (auto& [name, tiers] : others) {
    for (auto& [scenario, tier] : tiers) {
      const std::string where = in_tier(name, scenario);
      own_of_others[where] = take_own_keys(tier, scenarios, where, path.string());
      document["tiers"][name]["scenarios"][scenario] = tier;
    }
  }
  const std::vector<SchemaProblem> problems =
      validate_schema(document, home / "rules" / "rules.schema.json");
  if (!problems.empty()) {
    throw Error(
        printable(path.string()),
        fmt::format("breaks rules/rules.schema.json{}: {}",
                    problems.front().path.empty() ? "" : " at " + printable(problems.front().path),
                    problems.front().reason),
        problems.front().path.starts_with("/model")
            ? "mend the file; docs/tasks.md describes each field"
            : "mend the file; rules/README.md describes each field");
  }
  Rules rules;
  rules.workload = document.at("workload");
  rules.version = document.at("version");
  rules.summary = document.at("summary");
  rules.file = printable(path.filename().string(), 200);  // the folder says nothing
  rules.mlperf_equivalent = document.at("mlperf_equivalent");
  rules.default_tier = document.at("default_tier");
  rules.defaults = document.at("defaults").get<std::map<std::string, std::string>>();
  check_defaults(rules.defaults, path.string());
  for (const auto& [name, tier] : document.at("tiers").items()) {
    Tier parsed =
        tier_from_json(tier, scenarios, std::move(own[name]), "/tiers/" + name, path.string());
    for (const auto& [scenario, other] : others[name]) {
      const std::string where = in_tier(name, scenario);
      parsed.scenarios.push_back(
          tier_from_json(other, scenarios, std::move(own_of_others[where]), where, path.string()));
    }
    rules.tiers.emplace(name, std::move(parsed));
  }
  rules.finite_metrics = document.at("finite_metrics").get<std::vector<std::string>>();
  for (const std::string& tag : rules.finite_metrics) {
    const auto gives = [&](const auto& tier) {
      const auto& further = tier.second.scenarios;
      return scenarios.at(tier.second.scenario).gives_metric(tag) ||
             std::any_of(further.begin(), further.end(), [&](const Tier& other) {
               return scenarios.at(other.scenario).gives_metric(tag);
             });
    };
    if (std::any_of(rules.tiers.begin(), rules.tiers.end(), gives)) continue;
    refuse(path.string(), "/finite_metrics: no tier's scenario gives " + tag);
  }
  rules.quality = quality_from_json(document, "", path.string());
  if (document.contains("ablation")) {
    rules.ablation = ablation_rule_from_json(document.at("ablation"), rules.file);
  }
  if (document.contains("calibration")) {
    rules.calibration = document.at("calibration").at("samples").get<std::vector<std::int64_t>>();
  }
  rules.closed = constraints_from_json(document, "closed", "", path.string());
  rules.valid = constraints_from_json(document, "valid", "", path.string());
  return rules;
}

}  // namespace harness
