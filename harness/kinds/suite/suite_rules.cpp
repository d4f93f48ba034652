#include "harness/kinds/suite/suite_rules.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/kinds/suite/suite.hpp"
#include "harness/result/rules_document.hpp"
#include "harness/workload/rules_file.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void refuse_twice(const fs::path& file, const std::vector<std::string>& names, const char* where) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) continue;
    throw Error(printable(file.string()),
                fmt::format("{}: '{}' is there twice", where, printable(name, 64)), kMendRules);
  }
}

}  // namespace

const SuiteTier& SuiteRules::tier(const std::string& name) const {
  const auto found = tiers.find(name);
  if (found != tiers.end()) return found->second;
  throw Error("--tier " + printable(name), "unknown in " + file,
              did_you_mean(name, names_of(tiers)));
}

std::vector<std::string> SuiteRules::task_names() const {
  std::vector<std::string> names;
  for (const SuiteTaskRule& task : tasks) names.push_back(task.workload);
  return names;
}

Rules SuiteRules::as_rules(const std::string& tier) const {
  Rules rules;
  rules.workload = kSuiteName;
  rules.version = version;
  rules.summary = summary;
  rules.file = file;
  rules.sha256 = sha256;
  rules.closed.push_back({"tasks", "/settings/effective/tasks", "equals", join(task_names(), ","),
                          "leave --tasks out"});
  const auto known = tiers.find(tier);
  if (known == tiers.end()) return rules;
  rules.closed.push_back({"scenarios", "/settings/effective/scenarios", "equals",
                          join(known->second.scenarios, ","), "leave --scenarios out"});
  return rules;
}

SuiteRules load_suite_rules(const fs::path& home) {
  SuiteRules rules = load_suite_rules_file(home / rules_file_of(kSuiteName), home);
  rules.file = rules_file_of(kSuiteName);
  return rules;
}

SuiteRules load_suite_rules_file(const fs::path& file, const fs::path& home) {
  const auto [document, sha256] = read_rules_document(file, home / "rules" / "suite.schema.json");
  SuiteRules rules;
  rules.version = document.at("version");
  rules.summary = document.at("summary");
  rules.file = printable(file.filename().string(), 200);  // the folder says nothing
  rules.sha256 = sha256;
  rules.default_tier = document.at("default_tier");
  rules.reference = document.value("reference", "");
  for (const json& task : document.at("tasks")) {
    rules.tasks.push_back({task.at("workload"), task.value("set", decltype(SuiteTaskRule::set)())});
  }
  refuse_twice(file, rules.task_names(), "/tasks");
  for (const auto& [name, tier] : document.at("tiers").items()) {
    rules.tiers[name] = {tier.at("summary"), tier.at("scenarios"), tier.at("pause_seconds")};
    refuse_twice(file, rules.tiers[name].scenarios,
                 fmt::format("/tiers/{}/scenarios", name).c_str());
  }
  if (!rules.tiers.contains(rules.default_tier)) {
    throw Error(printable(file.string()), "/default_tier: there is no such tier", kMendRules);
  }
  return rules;
}

}  // namespace harness
