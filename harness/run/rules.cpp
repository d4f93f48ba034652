#include "harness/run/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/result/json_reader.hpp"
#include "harness/result/result_json.hpp"
#include "harness/result/schema.hpp"
#include "harness/run/ablation_rules.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestRulesFile = 1 << 20;

Tier tier_from_json(const json& document) {
  Tier tier;
  tier.summary = document.value("summary", "");
  tier.unavailable = document.value("unavailable", "");
  tier.batch_size = document.value("batch_size", tier.batch_size);
  tier.warmup_steps = document.value("warmup_steps", tier.warmup_steps);
  tier.min_steps = document.value("min_steps", tier.min_steps);
  tier.min_seconds = document.value("min_seconds", tier.min_seconds);
  tier.max_seconds = document.value("max_seconds", tier.max_seconds);
  tier.runs = document.value("runs", tier.runs);
  if (document.contains("seed")) tier.seed = document.at("seed").get<std::uint32_t>();
  return tier;
}

// What the schema does not say of a constraint; empty when all is well.
std::string misfit(const Constraint& constraint) {
  const std::string& op = constraint.op;
  const json& value = constraint.value;
  const auto needs = [&](const char* what) {
    return fmt::format("value: op {} needs {}, not {}", op, what, printable(value.dump(), 60));
  };
  if ((op == "at_least" || op == "at_most") && !value.is_number()) return needs("a number");
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

std::vector<Constraint> constraints_from_json(const json& document, const char* key,
                                              const std::string& file) {
  std::vector<Constraint> constraints;
  if (!document.contains(key)) return constraints;
  for (const json& item : document.at(key)) {
    constraints.push_back({item.at("rule"), item.at("path"), item.at("op"),
                           item.value("value", json()), item.value("hint", "")});
    const std::string trouble = misfit(constraints.back());
    if (trouble.empty()) continue;
    throw Error(printable(file), fmt::format("/{}/{}/{}", key, constraints.size() - 1, trouble),
                "mend the file; rules/README.md describes each field");
  }
  return constraints;
}

bool holds(const Constraint& constraint, const json* actual) {
  if (actual == nullptr || actual->is_null()) return false;
  if (constraint.op == "present") return true;
  if (constraint.op == "equals") return *actual == constraint.value;
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

const Metric* find_metric(const Result& result, const std::string& tag) {
  const auto found = std::find_if(result.metrics.begin(), result.metrics.end(),
                                  [&](const Metric& metric) { return metric.tag == tag; });
  return found == result.metrics.end() ? nullptr : &*found;
}

void check_lengths(const Tier& tier, const Result& result, std::vector<Violation>& violations) {
  const Metric* steps = find_metric(result, "time.step");
  if (steps == nullptr) {
    violations.push_back({"steps-timed", "/metrics", "a metric time.step", "none",
                          "run without interrupting the first steps"});
    return;
  }
  std::int64_t timed = 0;
  std::int64_t warmup = 0;
  double seconds = 0;
  for (const Sample& sample : steps->samples) {
    warmup += sample.warmup ? 1 : 0;
    if (sample.warmup || !sample.value) continue;
    ++timed;
    seconds += *sample.value;
  }
  const auto need = [&](const char* rule, double expected, double actual, const char* unit) {
    if (actual >= expected) return;
    violations.push_back({rule, "/metrics (time.step)",
                          fmt::format("at least {} {}", expected, unit),
                          fmt::format("{:.6g} {}", actual, unit),
                          "let the run finish, or raise the tier's time limit with --tier"});
  };
  need("minimum-steps", static_cast<double>(tier.min_steps), static_cast<double>(timed), "steps");
  need("minimum-seconds", tier.min_seconds, seconds, "s");
  need("warm-up", static_cast<double>(tier.warmup_steps), static_cast<double>(warmup), "steps");
}

}  // namespace

const Tier& Rules::tier(const std::string& name) const {
  const auto found = tiers.find(name);
  if (found == tiers.end()) {
    std::vector<std::string> names;
    for (const auto& [known, ignored] : tiers) names.push_back(known);
    throw Error("tier '" + printable(name) + "'", "unknown in " + file, did_you_mean(name, names));
  }
  if (!found->second.unavailable.empty()) {
    throw Error("tier '" + name + "'", found->second.unavailable,
                "choose another tier; 'harness list' shows them");
  }
  return found->second;
}

Rules load_rules(const std::filesystem::path& home, const std::string& workload) {
  const std::filesystem::path path = home / "rules" / (workload + ".json");
  const std::string content = read_file(path, kLargestRulesFile);
  const json document = parse_json(content, path.string());
  const std::vector<SchemaProblem> problems =
      validate_schema(document, home / "rules" / "rules.schema.json");
  if (!problems.empty()) {
    throw Error(printable(path.string()),
                fmt::format("breaks rules/rules.schema.json{}: {}",
                            problems.front().path.empty() ? "" : " at " + problems.front().path,
                            problems.front().reason),
                "mend the file; rules/README.md describes each field");
  }
  if (document.at("workload") != workload) {
    throw Error(printable(path.string()),
                "its field 'workload' says " + document.at("workload").dump(),
                "name the file after the workload");
  }
  Rules rules;
  rules.workload = workload;
  rules.version = document.at("version");
  rules.summary = document.at("summary");
  rules.file = "rules/" + workload + ".json";
  rules.sha256 = sha256_hex(content);
  rules.mlperf_equivalent = document.at("mlperf_equivalent");
  rules.default_tier = document.at("default_tier");
  rules.defaults = document.at("defaults").get<std::map<std::string, std::string>>();
  for (const auto& [name, tier] : document.at("tiers").items()) {
    rules.tiers.emplace(name, tier_from_json(tier));
  }
  rules.finite_metrics = document.at("finite_metrics").get<std::vector<std::string>>();
  if (document.contains("quality")) {
    const json& quality = document.at("quality");
    rules.quality =
        QualityRule{quality.at("metric"),
                    quality.at("direction") == "higher" ? Direction::kHigher : Direction::kLower,
                    quality.at("target")};
  }
  if (document.contains("ablation")) {
    rules.ablation = ablation_rule_from_json(document.at("ablation"), rules.file);
  }
  rules.closed = constraints_from_json(document, "closed", path.string());
  rules.valid = constraints_from_json(document, "valid", path.string());
  return rules;
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

void check_quality(const QualityRule& rule, const std::optional<QualityReport>& report,
                   const std::string& path, std::vector<Violation>& violations) {
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
  if (report->passed.value_or(false)) return;
  std::string hint = "the speed of a wrong model is no result";
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

std::vector<Violation> check_rules(const Rules& rules, const Result& result, const json& document) {
  std::vector<Violation> violations;
  const auto tier = rules.tiers.find(result.rules.tier);
  if (tier == rules.tiers.end()) {
    violations.push_back(
        {"tier", "/workload/tier", "a tier of " + rules.file, printable(result.rules.tier), ""});
  } else {
    check_lengths(tier->second, result, violations);
  }
  for (const std::string& tag : rules.finite_metrics) {
    const Metric* metric = find_metric(result, tag);
    if (metric == nullptr) {
      violations.push_back({"metric-present", "/metrics", "a metric " + tag, "none", ""});
      continue;
    }
    for (const Sample& sample : metric->samples) {
      if (sample.value) continue;
      violations.push_back(
          {"finite-" + tag, fmt::format("/metrics ({}, step {})", tag, sample.step),
           "a finite number", sample.reason, "lower the learning rate or look for a wrong kernel"});
      break;
    }
  }
  if (rules.quality) check_quality(*rules.quality, result.quality, "/quality", violations);
  check_constraints(rules.valid, document, violations);
  return violations;
}

}  // namespace harness
