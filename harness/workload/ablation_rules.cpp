#include "harness/workload/ablation_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// "pooled, bf16, NAME=custom": what differs from reference kernels is all that is named.
std::string settings_text(const VariantSettings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.chosen) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  }
  for (const auto& [name, implementation] : settings.kernels) {
    if (implementation != "reference") text += ", " + name + "=" + implementation;
  }
  return text;
}

void check_peer(const Peer& peer, const std::string& path, std::vector<Violation>& violations) {
  if (peer.doubt.empty()) return;
  violations.push_back({"peer-clock", path + "/peer", "times that agree with the harness's clock",
                        peer.doubt, "let it time its whole steps; docs/lockstep.md has the bound"});
}

/// Each process warms up by itself, as its tier says; all in one, as until 1.2.0, did so in rounds.
void check_warmup(const Rules& rules, const Ablation& ablation,
                  std::vector<Violation>& violations) {
  const bool in_clusters = clusters_of(ablation) > 0;
  const char* key = in_clusters ? "warmup_steps" : "warmup_rounds";
  const auto tier = rules.tiers.find(ablation.rules.tier);
  if (in_clusters && tier == rules.tiers.end()) return;
  const std::int64_t least =
      in_clusters ? tier->second.warmup_steps : rules.ablation->warmup_rounds;
  const std::int64_t warmup = ablation.settings.effective.value(key, std::int64_t{0});
  if (warmup >= least) return;
  violations.push_back({"warm-up", std::string("/settings/effective/") + key,
                        fmt::format("at least {}", least), std::to_string(warmup), ""});
}

void check_variants(const AblationRule& rule, const Ablation& ablation,
                    std::vector<Violation>& violations) {
  std::size_t next = 0;  // in the order of the rules
  std::vector<std::string> before;
  for (std::size_t i = 0; i < ablation.variants.size(); ++i) {
    const Variant& variant = ablation.variants[i];
    const std::string path = fmt::format("/variants/{}", i);
    if (variant.peer) {  // no rule says what steps beside the variants
      check_peer(*variant.peer, path, violations);
      continue;
    }
    const VariantRule* known = find_named(rule.variants, variant.name);
    if (known == nullptr) {
      violations.push_back({"variant", path + "/name", "a variant of the rules", variant.name, ""});
      continue;
    }
    const auto place = static_cast<std::size_t>(known - rule.variants.data());
    if (place < next) {
      violations.push_back({"variant-order", path + "/name", "the order of the rules",
                            "'" + variant.name + "' after one that follows it", ""});
    }
    next = place;
    const std::string expected = settings_text(known->settings);
    const std::string actual = settings_text(variant.settings);
    if (expected != actual) {
      violations.push_back({"variant-settings", path + "/settings", expected, actual, ""});
    }
    const std::string base = nearest_base(rule, variant.name, before);
    if (base != variant.to_previous.to) {
      violations.push_back({"variant-base", path + "/ratio_to_previous/to", "'" + base + "'",
                            "'" + printable(variant.to_previous.to, 64) + "'", ""});
    }
    before.push_back(variant.name);
  }
}

}  // namespace

std::string nearest_base(const AblationRule& rule, const std::string& name,
                         const std::vector<std::string>& measured) {
  const VariantRule* variant = find_named(rule.variants, name);
  while (variant != nullptr && !variant->builds_on.empty()) {
    const std::string& base = variant->builds_on;
    if (std::find(measured.begin(), measured.end(), base) != measured.end()) return base;
    variant = find_named(rule.variants, base);
  }
  return {};
}

AblationRule ablation_rule_from_json(const json& document, const std::string& file) {
  AblationRule rule;
  rule.warmup_rounds = document.value("warmup_rounds", rule.warmup_rounds);
  rule.rounds = document.value("rounds", rule.rounds);
  rule.clusters = document.value("clusters", rule.clusters);
  rule.steps_per_turn = document.value("steps_per_turn", rule.steps_per_turn);
  for (const json& item : document.at("variants")) {
    VariantRule variant;
    variant.name = item.at("name");
    variant.summary = item.at("summary");
    const std::string what = fmt::format("{}: variant '{}'", file, variant.name);
    if (find_named(rule.variants, variant.name) != nullptr) throw Error(what, "is there twice");
    variant.settings = standard_variant();
    if (!rule.variants.empty()) {
      variant.builds_on = item.value("builds_on", rule.variants.back().name);
      const VariantRule* base = find_named(rule.variants, variant.builds_on);
      if (base == nullptr) {
        throw Error(what, fmt::format("builds on '{}', which does not stand before it",
                                      printable(variant.builds_on, 64)));
      }
      variant.settings = base->settings;
    } else if (item.contains("builds_on")) {
      throw Error(what, "is the first one and builds on no other");
    }
    for (const auto& [key, value] : item.items()) {
      const auto setting = variant.settings.chosen.find(key);
      if (setting != variant.settings.chosen.end()) {
        setting->second = value;
      } else if (key != "name" && key != "summary" && key != "builds_on" && key != "kernels") {
        throw Error(what, "sets '" + printable(key, 64) + "', which is no setting of variants");
      }
    }
    if (item.contains("kernels")) {
      for (const auto& [name, implementation] : item.at("kernels").items()) {
        variant.settings.kernels[name] = implementation;
      }
    }
    rule.variants.push_back(std::move(variant));
  }
  return rule;
}

bool set_by_variants(const std::string& path) {
  if (path.starts_with("/kernels")) return true;
  const std::map<std::string, std::string> settings = standard_variant().chosen;
  return std::any_of(settings.begin(), settings.end(), [&](const auto& setting) {
    return path == "/settings/effective/" + setting.first;
  });
}

std::vector<Constraint> shared_constraints(const std::vector<Constraint>& constraints,
                                           const Ablation& ablation) {
  const bool told = ablation.status.state == RunState::kValid || !ablation.preparation.empty();
  std::vector<Constraint> shared;
  for (const Constraint& constraint : constraints) {
    if (set_by_variants(constraint.path)) continue;
    if (told || constraint.path.starts_with("/settings/")) shared.push_back(constraint);
  }
  return shared;
}

std::vector<Violation> check_rules(const Rules& rules, const Ablation& ablation,
                                   const json& document) {
  std::vector<Violation> violations;
  if (rules.ablation) {
    check_variants(*rules.ablation, ablation, violations);
    check_warmup(rules, ablation, violations);
  } else {
    violations.push_back({"ablation", "/workload/rules_file", "a section 'ablation'", "none", ""});
  }
  if (rules.quality) {
    for (std::size_t i = 0; i < ablation.variants.size(); ++i) {
      if (ablation.variants[i].peer) continue;
      check_quality(*rules.quality, ablation.variants[i].quality,
                    fmt::format("/variants/{}/quality", i), violations);
    }
  }
  check_constraints(shared_constraints(rules.valid, ablation), document, violations);
  return violations;
}

}  // namespace harness
