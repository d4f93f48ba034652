#include "harness/gate/rules.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/rules_document.hpp"
#include "harness/scenario/scenario.hpp"

namespace harness {
namespace {

using nlohmann::json;

GateGroup group_from(const std::string& text) {
  if (text == "memory") return GateGroup::kMemory;
  return text == "quality" ? GateGroup::kQuality : GateGroup::kPerformance;
}

std::vector<GatedMetric> metrics_from(const json& list, const std::string& file) {
  std::vector<GatedMetric> metrics;
  std::set<std::string> tags;
  for (const json& item : list) {
    metrics.push_back({item.at("tag"), item.at("margin"),
                       group_from(item.value("group", "performance")),
                       item.value("when_present", false), item.value("exact", false),
                       item.value("alarm_only", false)});
    if (tags.insert(metrics.back().tag).second) continue;
    throw Error(file, "names " + metrics.back().tag + " twice", kMendRules);
  }
  return metrics;
}

}  // namespace

std::vector<GatedMetric> GateRules::of(const Result& run) const {
  const auto own = workloads.find(run.rules.workload);
  const auto usual = scenarios.find(run.rules.scenario);
  std::vector<GatedMetric> gated = own != workloads.end()     ? own->second
                                   : usual != scenarios.end() ? usual->second
                                                              : metrics;
  for (GatedMetric& metric : gated) {
    if (metric.tag == "time.unit") metric.tag = find_scenario(run.rules.scenario).info().metric;
  }
  return gated;
}

GateRules load_gate_rules(const std::filesystem::path& home) {
  const std::filesystem::path path = home / "rules" / "gate.json";
  const std::string file = printable(path.string());
  const auto [document, sha256] = read_rules_document(path, home / "rules" / "gate.schema.json");
  GateRules rules;
  rules.version = document.at("version");
  rules.sha256 = sha256;
  rules.options = {document.at("false_alarm"), document.at("false_same"),
                   document.at("most_clusters")};
  rules.metrics = metrics_from(document.at("metrics"), file);
  rules.command_metric = metrics_from(json::array({document.at("command_metric")}), file).front();
  for (const auto& [key, lists] :
       {std::pair("scenarios", &rules.scenarios), std::pair("workloads", &rules.workloads)}) {
    for (const auto& [name, list] : document.at(key).items()) {
      lists->emplace(name, metrics_from(list, file));
    }
  }
  const json& lockstep = document.at("lockstep");
  const json& anchor = lockstep.at("anchor");
  rules.lockstep = {metrics_from(lockstep.at("metrics"), file),
                    lockstep.at("budget_minutes"),
                    lockstep.at("budgets"),
                    metrics_from(anchor.at("metrics"), file),
                    anchor.at("budget_minutes"),
                    anchor.at("budgets"),
                    lockstep.at("loss_tolerance")};
  const json& convergence = document.at("convergence");
  rules.convergence = {convergence.at("epochs_margin"),  convergence.at("seconds_margin"),
                       convergence.at("fewest_seeds"),   convergence.at("most_seeds"),
                       convergence.at("budget_minutes"), convergence.at("budgets")};
  const json& suites = document.at("suites");
  rules.suites = {suites.at("budget_minutes"), suites.at("lockstep_share")};
  return rules;
}

}  // namespace harness
