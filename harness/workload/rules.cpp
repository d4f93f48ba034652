#include "harness/workload/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

bool holds(const Constraint& constraint, const json* actual) {
  if (actual == nullptr || actual->is_null()) return false;
  if (constraint.op == "present") return true;
  if (constraint.op == "equals") return *actual == constraint.value;
  if (constraint.op == "starts_with") {
    return actual->is_string() && actual->get_ref<const std::string&>().starts_with(
                                      constraint.value.get_ref<const std::string&>());
  }
  if (constraint.op == "one_of") {
    return std::find(constraint.value.begin(), constraint.value.end(), *actual) !=
           constraint.value.end();
  }
  if (!actual->is_number()) return false;
  if (constraint.op == "at_least") return actual->get<double>() >= constraint.value.get<double>();
  return actual->get<double>() <= constraint.value.get<double>();  // at_most
}

std::string expectation(const Constraint& constraint) {
  if (constraint.op == "present") return "present";
  if (constraint.op == "equals") return constraint.value.dump();
  if (constraint.op == "starts_with") return "a text that begins with " + constraint.value.dump();
  if (constraint.op == "one_of") return "one of " + constraint.value.dump();
  return (constraint.op == "at_least" ? "at least " : "at most ") + constraint.value.dump();
}

const json* find(const json& document, const std::string& path) {
  const json::json_pointer pointer(path);
  try {
    return document.contains(pointer) ? &document.at(pointer) : nullptr;
  } catch (const json::exception&) {
    return nullptr;  // the index of a list that is beyond any number, say
  }
}

/// The tier, or what was asked for in its place: a departure, which makes the division open.
Tier length_of(const Tier& tier, const Settings& settings) {
  Tier length = tier;
  if (!settings.requested.contains("steps") && !settings.requested.contains("min_seconds")) {
    return length;
  }
  length.min_steps = settings.effective.value("min_steps", tier.min_steps);
  length.min_seconds = settings.effective.value("min_seconds", tier.min_seconds);
  return length;
}

void check_lengths(const Tier& tier, const ScenarioInfo& scenario, const Result& result,
                   std::vector<Violation>& violations) {
  // The quality target, or those who gave the orders, said when it was long enough.
  if (scenario.to_target || result.rules.lockstep) return;
  const Tier length = length_of(tier, result.settings);
  const std::string units = scenario.plural();
  const Metric* metric = find_metric(result.metrics, scenario.metric);
  if (metric == nullptr) {
    violations.push_back({units + "-timed", "/metrics", "a metric " + scenario.metric, "none",
                          "run without interrupting the first " + units});
    return;
  }
  std::int64_t timed = 0;
  std::int64_t warmup = 0;
  double seconds = 0;
  for (const Sample& sample : metric->samples) {
    warmup += sample.warmup ? 1 : 0;
    if (sample.warmup || !sample.value) continue;
    ++timed;
    seconds += *sample.value;
  }
  const auto need = [&](const std::string& rule, double expected, double actual,
                        const std::string& unit) {
    if (actual >= expected) return;
    violations.push_back({rule, fmt::format("/metrics ({})", scenario.metric),
                          fmt::format("at least {} {}", expected, unit),
                          fmt::format("{:.6g} {}", actual, unit),
                          "let the run finish, or raise the tier's time limit with --tier"});
  };
  if (scenario.by_loadgen) {
    timed = result.loadgen ? result.loadgen->queries : 0;
    // LoadGen counts from just before its first query.
    constexpr double kBefore = 1e-3;
    seconds = result.loadgen ? (1 + kBefore) * result.loadgen->seconds : 0;
  }
  need("minimum-" + units, static_cast<double>(length.min_steps), static_cast<double>(timed),
       units);
  need("minimum-seconds", length.min_seconds, seconds, "s");
  need("warm-up", static_cast<double>(length.warmup_steps), static_cast<double>(warmup), units);
}

void check_loadgen(const Result& result, std::vector<Violation>& violations) {
  if (!result.loadgen) {
    violations.push_back({"loadgen", "/loadgen", "what LoadGen says of the run", "none", ""});
    return;
  }
  if (result.loadgen->valid) return;
  for (const std::string& why : result.loadgen->reasons) {
    violations.push_back({"loadgen-validity", "/loadgen/validity", "valid", why, ""});
  }
}

void check_finite(const std::string& tag, const Result& result,
                  std::vector<Violation>& violations) {
  const Metric* metric = find_metric(result.metrics, tag);
  if (metric == nullptr) {
    violations.push_back({"metric-present", "/metrics", "a metric " + tag, "none", ""});
    return;
  }
  for (const Sample& sample : metric->samples) {
    if (sample.value) continue;
    violations.push_back({"finite-" + tag, fmt::format("/metrics ({}, step {})", tag, sample.step),
                          "a finite number", sample.reason,
                          "lower the learning rate or look for a wrong kernel"});
    return;
  }
}

/// A target that is a share of what fp32 reached is one for the data that it was reached on.
bool is_of_frozen_data(const QualityRule& rule, const Result& result) {
  return !rule.fp32 || !result.dataset || result.dataset->sha256 == rule.fp32->data_sha256;
}

}  // namespace

const Tier& Tier::in_scenario(const std::string& name) const {
  for (const Tier& other : scenarios) {
    if (other.scenario == name) return other;
  }
  return *this;
}

std::vector<std::string> Tier::scenario_names() const {
  std::vector<std::string> names{scenario};
  for (const Tier& other : scenarios) names.push_back(other.scenario);
  return names;
}

double Tier::key(const std::string& name, double otherwise) const {
  const auto found = more.find(name);
  return found == more.end() ? otherwise : found->second;
}

const Tier& Rules::tier(const std::string& name) const {
  const auto found = tiers.find(name);
  if (found == tiers.end()) {
    throw Error("tier '" + printable(name) + "'", "unknown in " + file,
                did_you_mean(name, names_of(tiers)));
  }
  if (!found->second.unavailable.empty()) {
    throw Error("tier '" + name + "'", found->second.unavailable,
                "choose another tier; 'harness list' shows them");
  }
  return found->second;
}

Rules Rules::in_tier(const std::string& name, const std::string& scenario) const {
  Rules effective = *this;
  const auto found = tiers.find(name);
  if (found == tiers.end()) return effective;
  const TierOverrides& instead = found->second.in_scenario(scenario).instead;
  if (instead.quality) effective.quality = instead.quality;
  if (instead.closed) effective.closed = *instead.closed;
  effective.mlperf_equivalent = instead.mlperf_equivalent.value_or(mlperf_equivalent);
  return effective;
}

std::vector<Departure> find_departures(const std::vector<Constraint>& constraints,
                                       const json& document, const std::string& only_below) {
  std::vector<Departure> departures;
  for (const Constraint& constraint : constraints) {
    if (!constraint.path.starts_with(only_below)) continue;
    const json* actual = find(document, constraint.path);
    if (holds(constraint, actual)) continue;
    departures.push_back({constraint.path, expectation(constraint),
                          actual == nullptr ? "absent" : printable(actual->dump())});
  }
  return departures;
}

std::string target_misfit(const QualityRule& rule, double target) {
  // At the worst end every model passes, at the best end or beyond hardly any or none.
  if ((rule.lowest && target <= *rule.lowest) || (rule.highest && target >= *rule.highest)) {
    return fmt::format("{} is no target for {}, which lies between {} and {}", target, rule.metric,
                       rule.lowest ? json(*rule.lowest).dump() : "any",
                       rule.highest ? json(*rule.highest).dump() : "any");
  }
  return {};
}

void check_quality(const QualityRule& rule, const std::optional<QualityReport>& report,
                   const std::string& path, std::vector<Violation>& violations,
                   bool target_applies) {
  const std::string expected = fmt::format(
      "{} {} {}", rule.metric, rule.direction == Direction::kHigher ? "at least" : "at most",
      report && report->target ? *report->target : rule.target);
  if (!report || !report->quality.value) {
    const std::string why = report ? report->quality.reason : "not evaluated";
    violations.push_back({"quality-target", path + "/value", expected, why,
                          report && !report->quality.checks.empty() ? "see the checks" : ""});
    return;
  }
  if (report->quality.metric != rule.metric) {
    violations.push_back({"quality-metric", path + "/metric", rule.metric,
                          printable(report->quality.metric, 64), ""});
  }
  if (report->quality.direction != rule.direction) {
    violations.push_back({"quality-direction", path + "/direction", to_text(rule.direction),
                          to_text(report->quality.direction), ""});
  }
  if (report->passed.value_or(false) || (!report->passed && !target_applies)) return;
  std::string hint = "a wrong model's speed does not count";
  for (const Check& check : report->quality.checks) {
    if (check.passed) continue;
    hint = fmt::format("first failing check: {} expected {}, got {}", check.name, check.expected,
                       check.actual);
    break;
  }
  violations.push_back({"quality-target", path + "/value", expected,
                        fmt::format("{:.6g}", *report->quality.value), hint});
}

void check_constraints(const std::vector<Constraint>& constraints, const json& document,
                       std::vector<Violation>& violations) {
  for (const Constraint& constraint : constraints) {
    const json* actual = find(document, constraint.path);
    if (holds(constraint, actual)) continue;
    violations.push_back({constraint.rule, constraint.path, expectation(constraint),
                          actual == nullptr ? "absent" : printable(actual->dump()),
                          constraint.hint});
  }
}

std::string scenario_misfit(const ScenarioInfo& scenario, const Tier& tier) {
  const std::vector<std::string>& given = tier.given;
  for (const std::string& key : scenario.needs) {
    if (std::find(given.begin(), given.end(), key) != given.end()) continue;
    return fmt::format("scenario '{}' needs '{}'", scenario.name, key);
  }
  for (const std::string& key : given) {
    const bool own = std::any_of(scenario.keys.begin(), scenario.keys.end(),
                                 [&](const TierKey& known) { return known.name == key; });
    if (own || scenario.reads_key(key)) continue;
    return fmt::format("'{}' has no meaning in scenario '{}'", key, scenario.name);
  }
  return {};
}

std::vector<Violation> check_rules(const Rules& rules, const ScenarioInfo& scenario,
                                   const Result& result, const json& document) {
  std::vector<Violation> violations;
  // The cause goes first: what is not finite may end a run before it is long enough.
  for (const std::string& tag : rules.finite_metrics) {
    if (scenario.gives_metric(tag)) check_finite(tag, result, violations);
  }
  const auto tier = rules.tiers.find(result.rules.tier);
  if (tier == rules.tiers.end()) {
    violations.push_back(
        {"tier", "/workload/tier", "a tier of " + rules.file, printable(result.rules.tier), ""});
  } else {
    const Tier& effective = tier->second.in_scenario(scenario.name);
    const std::string misfit = scenario_misfit(scenario, effective);
    if (misfit.empty()) {
      check_lengths(effective, scenario, result, violations);
    } else {
      violations.push_back(
          {"scenario", "/workload/scenario", "one that the tier serves", scenario.name, misfit});
    }
  }
  if (scenario.by_loadgen) check_loadgen(result, violations);
  // Among sides in lockstep one evaluation may stand for all.
  const bool evaluated = !result.rules.lockstep || result.quality.has_value();
  if (rules.quality && evaluated)
    check_quality(*rules.quality, result.quality, "/quality", violations,
                  is_of_frozen_data(*rules.quality, result));
  check_constraints(rules.valid, document, violations);
  return violations;
}

}  // namespace harness
