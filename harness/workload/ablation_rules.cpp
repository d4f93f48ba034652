#include "harness/workload/ablation_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"

namespace harness {

using nlohmann::json;

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

}  // namespace harness
