#include "harness/mlperf/log_rules.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/rules_document.hpp"

namespace harness {
namespace {

using nlohmann::json;

// The schema allows no other names.
const std::map<std::string, LogOp>& operators() {
  static const std::map<std::string, LogOp> table = {
      {"exactly_one", LogOp::kExactlyOne},
      {"at_least_one", LogOp::kAtLeastOne},
      {"equals", LogOp::kEquals},
      {"not_equals", LogOp::kNotEquals},
      {"one_of", LogOp::kOneOf},
      {"at_least", LogOp::kAtLeast},
      {"above", LogOp::kAbove},
      {"some_value", LogOp::kSomeValue},
      {"after", LogOp::kAfter},
      {"not_after", LogOp::kNotAfter},
      {"followed_by", LogOp::kFollowedBy},
      {"minutes_since_first", LogOp::kMinutesSinceFirst},
      {"metadata_has_any", LogOp::kMetadataHasAny},
      {"metadata_needs", LogOp::kMetadataNeeds},
      {"metadata_above", LogOp::kMetadataAbove},
      {"metadata_at_least", LogOp::kMetadataAtLeast},
      {"metadata_one_of", LogOp::kMetadataOneOf},
  };
  return table;
}

std::optional<double> optional_number(const json& document, const char* name) {
  if (!document.contains(name)) return std::nullopt;
  return document.at(name).get<double>();
}

LogRule rule_from_json(const json& document) {
  LogRule rule;
  rule.name = document.at("rule");
  if (document.contains("keys")) {
    rule.keys = document.at("keys").get<std::vector<std::string>>();
  } else {
    rule.keys = {document.at("key").get<std::string>()};
  }
  rule.op = operators().at(document.at("op"));
  rule.member = document.value("name", "");
  rule.value = document.value("value", json());
  rule.at_least = optional_number(document, "at_least");
  rule.below = optional_number(document, "below");
  rule.limit_by = document.value("limit_by", "");
  rule.limits = document.value("limits", std::map<std::string, double>());
  rule.other_limit = document.value("other_limit", 0.0);
  rule.hint = document.value("hint", "");
  return rule;
}

std::vector<LogRule> rules_from_json(const json& list) {
  std::vector<LogRule> rules;
  for (const json& document : list) rules.push_back(rule_from_json(document));
  return rules;
}

}  // namespace

LogRules load_log_rules(const std::filesystem::path& home, const std::string& name) {
  if (name.find('/') != std::string::npos) {
    throw Error("--rules " + printable(name), "is no file of rules/", "name it without a folder");
  }
  const std::filesystem::path folder = home / "rules";
  const json document =
      read_rules_document(folder / (name + ".json"), folder / "mlperf-log.schema.json").document;
  LogRules rules;
  rules.ruleset = document.at("ruleset");
  const json& benchmark = document.at("benchmark");
  rules.benchmark = {benchmark.at("name"), benchmark.at("workloads"), benchmark.at("stand_ins")};
  rules.prefix = document.at("line").at("prefix");
  rules.fields = document.at("line").at("fields").get<std::vector<std::string>>();
  for (const json& group : document.at("groups")) {
    using When = std::map<std::string, std::vector<std::string>>;
    rules.groups.push_back(
        {group.at("name"), group.value("when", When()), rules_from_json(group.at("rules"))});
  }
  rules.notes = rules_from_json(document.at("notes"));
  return rules;
}

}  // namespace harness
