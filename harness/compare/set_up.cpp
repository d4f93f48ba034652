#include "harness/compare/set_up.hpp"

#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

std::string shown(const json& value) {
  return printable(value.is_string() ? value.get<std::string>() : value.dump(), 80);
}

/// Drawn from the seed, they differ from run to run as the seeds do.
std::string weights_of(const Result& run) {
  std::vector<std::string> list;
  for (const Artifact& weights : run.weights) {
    const bool drawn = weights.source.starts_with("seeded");
    list.push_back(drawn ? "seeded" : weights.sha256.value_or(printable(weights.name, 60)));
  }
  return list.empty() ? "none" : join(list, ", ");
}

}  // namespace

std::map<std::string, std::string> set_up_of(const Result& run) {
  std::map<std::string, std::string> facts;
  const json& effective = run.settings.effective;
  for (const char* key : {"tier", "batch_size", "threads", "cpus", "precision", "allocator",
                          "max_epochs", "quality_target"}) {
    facts[key] = shown(effective.value(key, json()));
  }
  facts["scenario"] = printable(run.rules.scenario, 80);
  const json settings = effective.value("set", json::object());
  for (const auto& [key, value] : settings.items()) {
    facts["set " + key] = shown(value);
  }
  facts["kernels"] = kernels_text(run.kernels);
  facts["data"] = run.dataset ? run.dataset->sha256.value_or("unknown") : "none";
  const auto system = [&](const char* name, const char* pointer) {
    const json::json_pointer place(pointer);
    facts[name] = shown(run.system.contains(place) ? run.system.at(place) : json());
  };
  system("machine", "/fingerprint");
  system("processor", "/cpu/model_name");
  system("usable cores", "/limits/usable_cores");
  system("governor", "/cpu/governor");
  system("LibTorch", "/software/libtorch");
  system("oneDNN", "/software/onednn");
  system("compiler", "/build/compiler");
  facts["weights"] = weights_of(run);
  facts["commit"] = run.identity.git_commit + (run.identity.git_dirty ? ", modified" : "");
  return facts;
}

}  // namespace harness
