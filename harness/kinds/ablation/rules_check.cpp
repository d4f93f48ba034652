#include "harness/kinds/ablation/rules_check.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/kinds/ablation/scaling.hpp"
#include "harness/workload/ablation_rules.hpp"

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
    if (is_scaling(ablation)) {
      violations = check_worlds(ablation);
    } else {
      check_variants(*rules.ablation, ablation, violations);
    }
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
