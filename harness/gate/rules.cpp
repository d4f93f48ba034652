#include "harness/gate/rules.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/result/schema.hpp"
#include "harness/scenario/scenario.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestFile = 1 << 20;
constexpr const char* kAdvice = "mend the file; rules/README.md describes each field";

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
                       item.value("when_present", false)});
    if (tags.insert(metrics.back().tag).second) continue;
    throw Error(file, "names " + metrics.back().tag + " twice", kAdvice);
  }
  return metrics;
}

}  // namespace

std::vector<GatedMetric> GateRules::of(const Result& run) const {
  const auto found = workloads.find(run.rules.workload);
  std::vector<GatedMetric> gated = found == workloads.end() ? metrics : found->second;
  for (GatedMetric& metric : gated) {
    if (metric.tag == "time.unit") metric.tag = find_scenario(run.rules.scenario).info().metric;
  }
  return gated;
}

GateRules load_gate_rules(const std::filesystem::path& home) {
  const std::filesystem::path path = home / "rules" / "gate.json";
  const std::string file = printable(path.string());
  const json document = parse_json(read_file(path, kLargestFile), path.string());
  const std::vector<SchemaProblem> problems =
      validate_schema(document, home / "rules" / "gate.schema.json");
  if (!problems.empty()) {
    throw Error(file,
                fmt::format("breaks rules/gate.schema.json at {}: {}",
                            problems.front().path.empty() ? "/" : problems.front().path,
                            problems.front().reason),
                kAdvice);
  }
  GateRules rules;
  rules.version = document.at("version");
  rules.options = {document.at("confidence"), document.at("most_pairs")};
  rules.metrics = metrics_from(document.at("metrics"), file);
  rules.command_metric = metrics_from(json::array({document.at("command_metric")}), file).front();
  for (const auto& [name, list] : document.at("workloads").items()) {
    rules.workloads.emplace(name, metrics_from(list, file));
  }
  return rules;
}

}  // namespace harness
