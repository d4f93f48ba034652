#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/files.hpp"
#include "harness/base/named.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/commands/command.hpp"
#include "harness/result/setting.hpp"
#include "harness/result/tuning_file.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/workload/registry.hpp"
#include "harness/workload/rules.hpp"
#include "harness/workload/rules_file.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// The table that the implementation follows here; empty where it follows none, or there is none.
std::optional<TuningTable> table_of(const ImplementationInfo& item,
                                    const std::filesystem::path& home) {
  const std::filesystem::path file = tuning_file(home, item.tuned_for);
  if (item.tuned_for.empty() || !std::filesystem::exists(file)) return std::nullopt;
  return load_tuning(file, home);
}

json to_json(const OperatorInfo& info, const std::filesystem::path& home) {
  json implementations = json::array();
  for (const ImplementationInfo& item : info.implementations) {
    implementations.push_back({{"name", item.name},
                               {"summary", item.summary},
                               {"available", item.unavailable.empty()},
                               {"reason", item.unavailable}});
    if (item.tuned_for.empty()) continue;
    json& tuning = implementations.back()["tuning"] = {{"instruction_set", item.tuned_for},
                                                       {"sha256", nullptr}};
    if (const auto table = table_of(item, home)) {
      tuning["sha256"] = table->sha256;
      tuning["lines"] = table->lines.size();
    }
  }
  return {{"name", info.name}, {"summary", info.summary}, {"implementations", implementations}};
}

json to_json(const WorkloadInfo& info, const Rules& rules) {
  json settings = json::array();
  for (const SettingInfo& setting : info.settings) {
    settings.push_back({{"key", setting.key},
                        {"default", setting.default_value},
                        {"summary", setting.summary},
                        {"choices", setting.choices}});
  }
  json tiers = json::object();
  for (const auto& [name, tier] : rules.tiers) {
    tiers[name] = {{"summary", tier.summary},
                   {"scenario", tier.scenario},
                   {"scenarios", tier.scenario_names()},
                   {"available", tier.unavailable.empty()},
                   {"reason", tier.unavailable}};
  }
  return {{"name", info.name},
          {"summary", info.summary},
          {"variants", rules.ablation ? json(names_of(rules.ablation->variants)) : json::array()},
          {"offers", info.offers},
          {"takes_data", !info.data_folder.empty()},
          {"data", info.data_folder},
          {"shares_steps", info.shares_steps},
          {"settings", settings},
          {"operators", names_of(info.operators)},
          {"rules", {{"file", rules.file}, {"version", rules.version}, {"sha256", rules.sha256}}},
          {"defaults", rules.defaults},
          {"default_tier", rules.default_tier},
          {"tiers", tiers}};
}

json to_json(const ScenarioInfo& info) {
  json keys = json::array();
  for (const TierKey& key : info.keys) {
    keys.push_back({{"name", key.name},
                    {"summary", key.summary},
                    {"default", key.otherwise},
                    {"lowest", key.lowest},
                    {"highest", key.highest}});
  }
  return {{"name", info.name},
          {"summary", info.summary},
          {"unit", info.unit},
          {"metric", info.metric},
          {"keys", keys}};
}

void print_head(const std::string& name, const std::string& summary) {
  print_out(name + "\n" + wrap("    " + summary, 100, 4) + "\n");
}

void print_row(const std::string& start, std::size_t column, const std::string& text) {
  constexpr std::size_t kColumns = 100;
  print_out(wrap(fmt::format("    {:<{}} {}", start, column, text), kColumns, column + 5) + "\n");
}

/// Whether a scenario of the rules leaves something to short trials.
bool searches_set_up(const Rules& rules) {
  return std::any_of(rules.tiers.begin(), rules.tiers.end(), [](const auto& tier) {
    const std::vector<Tier>& all = tier.second.scenarios;
    return std::any_of(all.begin(), all.end(),
                       [](const Tier& one) { return one.key("search_seconds") > 0; });
  });
}

void print_workload(const WorkloadInfo& info, const Rules& rules) {
  print_head(info.name, info.summary);
  for (const auto& [name, tier] : rules.tiers) {
    print_row("--tier " + name, 18,
              tier.summary +
                  (tier.unavailable.empty() ? "" : " (not available: " + tier.unavailable + ")") +
                  (name == rules.default_tier ? " (default)" : ""));
    if (!tier.scenarios.empty()) {
      print_row("  --scenario", 18, join(tier.scenario_names(), "|"));
    }
  }
  const bool searched = searches_set_up(rules);
  const auto fallback = [&](const std::string& key, bool by_trials = false) {
    const auto found = rules.defaults.find(key);
    if (found == rules.defaults.end()) return std::string();
    return " (default " + found->second +
           (by_trials && searched ? "; under LoadGen by trials)" : ")");
  };
  for (const auto& [setting, values] : info.offers) {
    const Setting* declared = SettingTable::instance().find(setting);
    print_row("--" + (declared == nullptr ? setting : declared->option()), 18,
              join(values, "|") + fallback(setting, setting == "precision"));
  }
  if (info.shares_steps) print_row("--ranks N", 18, "processes that share each step");
  if (!info.data_folder.empty()) print_row("--data DIR", 18, info.data_folder);
  if (!info.operators.empty()) {
    print_row("--kernels", 18, "of " + join(names_of(info.operators), ", ") + fallback("kernels"));
  }
  for (const SettingInfo& setting : info.settings) {
    const std::string shown =
        setting.choices.empty() ? setting.default_value : join(setting.choices, "|");
    print_row("--set " + setting.key + "=" + shown, 30, setting.summary);
  }
  if (rules.ablation) print_row("ablation", 18, join(names_of(rules.ablation->variants), ", "));
  print_row("rules", 18,
            rules.file.empty()
                ? rules.summary
                : fmt::format("{} version {}: {}", rules.file, rules.version, rules.summary));
  print_out("\n");
}

std::string tuning_text(const ImplementationInfo& item, const std::filesystem::path& home) {
  const auto table = table_of(item, home);
  if (!table) {
    return "no table comes with the program for " + item.tuned_for +
           ": a rule chooses, or one of your own (harness tune)";
  }
  return fmt::format("follows the table for {} (harness tune): {}, measured on {}, SHA-256 {}",
                     item.tuned_for, format_count(std::ssize(table->lines), "line"),
                     printable(table->processor), table->sha256.substr(0, 8));
}

void print_kernel(const OperatorInfo& info, const std::filesystem::path& home) {
  print_head(info.name, info.summary);
  for (const ImplementationInfo& item : info.implementations) {
    print_row(
        item.name, 12,
        item.summary + (item.unavailable.empty() ? "" : " (not here: " + item.unavailable + ")"));
    if (!item.tuned_for.empty()) print_row("", 12, tuning_text(item, home));
  }
}

void print_scenario(const ScenarioInfo& info) {
  print_head(info.name, info.summary);
  print_row("times", 18, fmt::format("each {}, as {}", info.unit, info.metric));
  for (const TierKey& key : info.keys) {
    print_row(key.name, 18,
              fmt::format("{}, from {} to {} (default {}); a tier's rules say it", key.summary,
                          key.lowest, key.highest, key.otherwise));
  }
}

/// What is shown: everything, or what has one name.
struct Listing {
  std::vector<const WorkloadInfo*> workloads{};
  std::map<std::string, const OperatorInfo*> kernels{};
  std::vector<const ScenarioInfo*> scenarios{};
};

Listing everything() {
  Listing all;
  for (const WorkloadEntry* entry : WorkloadRegistry::instance().list()) {
    all.workloads.push_back(&entry->info);
    for (const OperatorInfo& info : entry->info.operators) all.kernels.emplace(info.name, &info);
  }
  for (const auto& [name, info] : scenario_infos()) all.scenarios.push_back(&info);
  return all;
}

/// Throws Error when nothing is called so.
Listing only(const std::string& name, const Listing& all) {
  Listing found;
  std::vector<std::string> names;
  for (const WorkloadInfo* info : all.workloads) {
    if (info->name == name) found.workloads.push_back(info);
    names.push_back(info->name);
  }
  for (const auto& [kernel, info] : all.kernels) {
    if (kernel == name) found.kernels.emplace(kernel, info);
    names.push_back(kernel);
  }
  for (const ScenarioInfo* info : all.scenarios) {
    if (info->name == name) found.scenarios.push_back(info);
    names.push_back(info->name);
  }
  if (!found.workloads.empty() || !found.kernels.empty() || !found.scenarios.empty()) return found;
  throw Error("'" + printable(name) + "'", "is no workload, kernel or scenario",
              did_you_mean(name, names));
}

/// Without a file there is --rules.
Rules rules_of(const WorkloadInfo& info, const std::filesystem::path& home) {
  if (std::filesystem::exists(home / rules_file_of(info.name)))
    return load_rules(home, info.name, scenario_infos());
  Rules none;
  none.summary = "none here: give them with --rules FILE";
  return none;
}

json to_json(const Listing& listing, const std::filesystem::path& home) {
  json workloads = json::array();
  for (const WorkloadInfo* info : listing.workloads) {
    workloads.push_back(to_json(*info, rules_of(*info, home)));
  }
  json kernels = json::array();
  for (const auto& [name, info] : listing.kernels) kernels.push_back(to_json(*info, home));
  json scenarios = json::array();
  for (const ScenarioInfo* info : listing.scenarios) scenarios.push_back(to_json(*info));
  return {{"workloads", workloads}, {"kernels", kernels}, {"scenarios", scenarios}};
}

void print_text(const Listing& listing, const std::filesystem::path& home) {
  if (!listing.workloads.empty()) print_out("WORKLOADS (harness run --workload NAME)\n\n");
  for (const WorkloadInfo* info : listing.workloads) {
    print_workload(*info, rules_of(*info, home));
  }
  if (!listing.kernels.empty()) print_out("KERNELS (--kernels OPERATOR=IMPLEMENTATION)\n\n");
  for (const auto& [name, info] : listing.kernels) print_kernel(*info, home);
  if (!listing.kernels.empty() && !listing.scenarios.empty()) print_out("\n");
  if (!listing.scenarios.empty()) print_out("SCENARIOS (harness run --scenario NAME)\n\n");
  for (const ScenarioInfo* info : listing.scenarios) print_scenario(*info);
}

}  // namespace

ExitCode list_command(const Arguments& arguments) {
  Options options("list",
                  "Shows workloads, kernels and scenarios, with rules and settings. With NAME only "
                  "what has that name.",
                  "[NAME] [--json]");
  options.add("json", "print the same as JSON")
      .allow_words()
      .example("harness list")
      .example("harness list null")
      .exits({ExitCode::kOk, ExitCode::kUsage});
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().size() > 1) {
    throw Error("argument '" + printable(options.words()[1]) + "'", "not expected",
                "harness list takes one name");
  }
  const std::filesystem::path home = home_folder();
  Listing listing = everything();
  if (!options.words().empty()) listing = only(options.words().front(), listing);
  options.flag("json") ? print_json(to_json(listing, home)) : print_text(listing, home);
  return ExitCode::kOk;
}

}  // namespace harness
