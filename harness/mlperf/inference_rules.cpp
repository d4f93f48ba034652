#include "harness/mlperf/inference_rules.hpp"

#include "harness/result/rules_document.hpp"

namespace harness {

InferenceRules load_inference_rules(const std::filesystem::path& home, const std::string& name) {
  const std::filesystem::path folder = home / "rules";
  const nlohmann::json document =
      read_rules_document(folder / (name + ".json"), folder / "mlperf-inference.schema.json")
          .document;
  InferenceRules rules;
  rules.ruleset = document.at("ruleset");
  rules.round = document.at("round");
  rules.min_seconds = document.at("min_seconds");
  for (const nlohmann::json& entry : document.at("models")) {
    constexpr double kMillisecond = 1e-3;
    InferenceModel& model = rules.models.emplace_back();
    model.workload = entry.at("workload");
    model.model = entry.at("model");
    model.metric = entry.at("metric");
    model.accuracy = entry.at("accuracy");
    model.samples = entry.at("samples");
    model.samples_in_memory = entry.at("samples_in_memory");
    model.latency_bound = entry.at("latency_bound_ms").get<double>() * kMillisecond;
  }
  return rules;
}

}  // namespace harness
