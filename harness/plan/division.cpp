#include "harness/plan/division.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/workload/rules_file.hpp"

namespace harness {
namespace {

using nlohmann::json;

auto at_path(const std::string& path) {
  return [&path](const Departure& departure) { return departure.path == path; };
}

// A file holds 0.5 where the run had 0.50 or, for a whole number, 1 where it had 1.0.
bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  // Files from before this was counted in proper words.
  if (a == "resumed 1 times" && b == "resumed 1 time") return true;
  const json first = json::parse(a, nullptr, false);
  const json second = json::parse(b, nullptr, false);
  return !first.is_discarded() && first == second;
}

std::string shown(const Departure& departure) {
  return fmt::format("{} ({} instead of {})", departure.path, departure.actual, departure.expected);
}

}  // namespace

void add_departures(std::vector<Departure>& list, const std::vector<Departure>& more) {
  for (const Departure& departure : more) {
    if (std::none_of(list.begin(), list.end(), at_path(departure.path))) list.push_back(departure);
  }
}

std::vector<Departure> tier_departures(const Rules& rules, const std::string& tier,
                                       const std::string& driven, const json& settings) {
  std::vector<Departure> departures;
  const auto known = rules.tiers.find(tier);
  if (known == rules.tiers.end()) return departures;
  const json& effective = settings.at("effective");
  const auto actual = [&](const char* key) {
    const auto found = effective.find(key);
    return found == effective.end() ? json() : *found;
  };
  const auto add = [&](const char* key, const std::string& expected) {
    departures.push_back(
        {fmt::format("/settings/effective/{}", key), expected, printable(actual(key).dump())});
  };
  const Tier& rule = known->second.in_scenario(driven);
  if (!rule.any_batch_size && actual("batch_size") != rule.batch_size)
    add("batch_size", std::to_string(rule.batch_size));
  // A dry run is one run whatever was asked for, and claims nothing. Ablations have no runs.
  const bool dry = (settings.at("requested").value("dry_run", json()) == true);
  if (!dry && effective.contains("runs") && actual("runs") < rule.runs) {
    add("runs", std::to_string(rule.runs));
  }
  if (!dry && rule.max_epochs > 0 && actual("max_epochs") != rule.max_epochs) {
    add("max_epochs", std::to_string(rule.max_epochs));
  }
  const auto scenario = scenario_infos().find(rule.scenario);
  if (!dry && scenario != scenario_infos().end() && scenario->second.to_target) {
    // A seed that somebody chose could be one that learns fast.
    const auto seed = settings.at("requested").find("seed");
    if (seed != settings.at("requested").end()) {
      departures.push_back({"/settings/requested/seed", "one from the operating system's entropy",
                            printable(seed->dump())});
    }
  }
  if (rules.quality && actual("quality_target") != rules.quality->target) {
    add("quality_target", json(rules.quality->target).dump());
  }
  if (rules.ablation && effective.contains("rounds") && actual("rounds") < rules.ablation->rounds) {
    add("rounds", fmt::format("at least {}", rules.ablation->rounds));
  }
  // Only of several ranks, from 1.14.0 of the schema on.
  if (!actual("gradient_sums").is_null() && actual("gradient_sums") != "fp32") {
    add("gradient_sums", "fp32");
  }
  // Until 1.2.0 of its schema an ablation had none.
  if (rules.ablation && effective.contains("clusters") &&
      actual("clusters") < rules.ablation->clusters) {
    add("clusters", fmt::format("at least {}", rules.ablation->clusters));
  }
  return departures;
}

std::vector<Departure> length_departures(const Rules& rules, const std::string& tier,
                                         const std::string& driven, const json& settings) {
  std::vector<Departure> departures;
  const auto known = rules.tiers.find(tier);
  const json& effective = settings.at("effective");
  if (known == rules.tiers.end() || (settings.at("requested").value("dry_run", json()) == true))
    return {};
  const auto compare = [&](const char* key, const json& expected) {
    const auto actual = effective.find(key);
    if (actual == effective.end() || *actual == expected) return;
    departures.push_back(
        {fmt::format("/settings/effective/{}", key), expected.dump(), printable(actual->dump())});
  };
  const Tier& rule = known->second.in_scenario(driven);
  compare("min_steps", rule.min_steps);
  compare("min_seconds", rule.min_seconds);
  return departures;
}

std::vector<Departure> scenario_departures(const Rules& rules, const std::string& tier,
                                           const std::string& scenario) {
  const auto known = rules.tiers.find(tier);
  if (known == rules.tiers.end() || known->second.in_scenario(scenario).scenario == scenario) {
    return {};
  }
  return {{"/workload/scenario", json(known->second.scenario).dump(), json(scenario).dump()}};
}

std::vector<Departure> rules_departures(const Rules& rules) {
  const std::string own = rules_file_of(rules.workload);
  if (rules.file == own) return {};
  return {{"/workload/rules_file", own, rules.file}};
}

std::vector<Departure> departures_of(const Rules& rules, const std::vector<Constraint>& closed,
                                     const json& document) {
  const json& workload = document.at("workload");
  const json& tier = workload.at("tier");
  const json& settings = document.at("settings");
  const std::string driven =
      workload.value("scenario", default_scenario(document.contains("training")));
  std::vector<Departure> departures = tier_departures(rules, tier, driven, settings);
  // A profile is as long as it was told to be: it is no measurement under the rules.
  if (document.at("kind") != "profile") {
    add_departures(departures, length_departures(rules, tier, driven, settings));
  }
  if (document.at("kind") != "ablation") {
    add_departures(departures, scenario_departures(rules, tier, driven));
  }
  add_departures(departures, rules_departures(rules));
  add_departures(departures, find_departures(closed, document));
  add_departures(departures, interruptions(document));
  return departures;
}

std::vector<Departure> interruptions(const json& document) {
  const auto training = document.find("training");
  if (training == document.end() || training->at("resumed").empty()) return {};
  return {{"/training/resumed", "no interruption",
           "resumed " + format_count(std::ssize(training->at("resumed")), "time")}};
}

std::vector<Violation> check_division(const Rules& rules, const ResultCommon& result,
                                      const std::vector<Departure>& derived) {
  std::vector<Violation> violations;
  const std::vector<Departure>& listed = result.rules.departures;
  for (const Departure& departure : derived) {
    const auto own = std::find_if(listed.begin(), listed.end(), at_path(departure.path));
    if (own != listed.end() && same_value(own->expected, departure.expected) &&
        same_value(own->actual, departure.actual)) {
      continue;
    }
    violations.push_back({"departures", "/workload/departures", shown(departure),
                          own == listed.end() ? "not listed" : shown(*own), ""});
  }
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (std::any_of(derived.begin(), derived.end(), at_path(listed[i].path))) continue;
    violations.push_back({"departures", fmt::format("/workload/departures/{}", i),
                          "what the result departs in", printable(listed[i].path), ""});
  }
  const json& requested = result.settings.requested;
  const auto asked = requested.find("division");
  const bool open = !derived.empty() || (asked != requested.end() && *asked == "open");
  const char* division = open ? "open" : "closed";
  if (result.rules.division != division) {
    violations.push_back(
        {"division", "/workload/division", division, printable(result.rules.division), ""});
  }
  if (result.rules.mlperf_equivalent && !(rules.mlperf_equivalent && !open)) {
    violations.push_back({"mlperf-equivalent", "/workload/mlperf_equivalent", "false", "true", ""});
  }
  return violations;
}

}  // namespace harness
