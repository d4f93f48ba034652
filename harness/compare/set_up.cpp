#include "harness/compare/set_up.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// Safe to print, and never the same for two values: what is too long to be read whole has its
/// hash.
std::string shown(const std::string& text) {
  constexpr std::size_t kMost = 80;
  if (text.size() <= kMost) return printable(text, kMost);
  return printable(text, 60) + " " + sha256_hex(text).substr(0, 16);
}

std::string shown(const json& value) {
  return shown(value.is_string() ? value.get<std::string>() : value.dump());
}

/// Of a file without a hash all that is known is where it lay.
std::string known_by(const Artifact& file) {
  return file.sha256.value_or("not hashed: " + shown(file.name + " " + file.source));
}

/// Drawn from the seed, they differ from run to run as the seeds do.
std::string weights_of(const Result& run) {
  std::vector<std::string> list;
  for (const Artifact& weights : run.weights) {
    const bool drawn = weights.source.starts_with("seeded");
    list.push_back(drawn ? "seeded" : known_by(weights));
  }
  return list.empty() ? "none" : join(list, ", ");
}

/// Whether the setting `key` of the workload names a file that stands, hashed, among the weights.
bool is_known_by_hash(const Result& run, const std::string& key) {
  return std::any_of(run.weights.begin(), run.weights.end(),
                     [&](const Artifact& file) { return file.name == key && file.sha256; });
}

/// "2: this processor, that processor".
std::string nodes_of(const WorldReport& world) {
  std::map<std::int64_t, std::string> models;
  for (const RankReport& rank : world.members) models.try_emplace(rank.node, rank.cpu_model);
  std::vector<std::string> list;
  for (const auto& [node, model] : models) list.push_back(model);
  const bool told = world.nodes > 1;
  return std::to_string(world.nodes) + (told ? ": " + shown(join(list, ", ")) : "");
}

}  // namespace

std::map<std::string, std::string> set_up_of(const Result& run) {
  std::map<std::string, std::string> facts;
  const json& effective = run.settings.effective;
  for (const auto& setting : SettingTable::instance().list()) {
    if (setting->part == SetUpPart::kExempt) continue;
    facts[setting->name] = shown(effective.value(setting->name, setting->standard));
  }
  for (const auto& [name, value] : effective.items()) {
    if (SettingTable::instance().find(name) == nullptr) {
      facts["setting " + shown(name)] = shown(value.dump());
    }
  }
  facts.erase("set");
  facts["scenario"] = shown(run.rules.scenario);
  facts["lockstep"] = run.rules.lockstep ? "yes" : "no";
  const json settings = effective.value("set", json::object());
  for (const auto& [key, value] : settings.items()) {
    if (!is_known_by_hash(run, key)) facts["set " + shown(key)] = shown(value);
  }
  facts["kernels"] = kernels_text(run.kernels);
  facts["data"] = run.dataset ? known_by(*run.dataset) : "none";
  const auto system = [&](const char* name, const char* pointer) {
    const json::json_pointer place(pointer);
    facts[name] = shown(run.system.contains(place) ? run.system.at(place) : json());
  };
  system("machine", "/fingerprint");
  system("processor", "/cpu/model_name");
  system("usable cores", "/limits/usable_cores");
  system("governor", "/cpu/governor");
  system("compiler", "/build/compiler");
  const json software = run.system.value("software", json::object());
  for (const auto& [name, value] : software.items()) {
    facts["software " + shown(name)] = shown(value);
  }
  facts["weights"] = weights_of(run);
  facts["nodes"] = run.world ? nodes_of(*run.world) : "1";
  facts["engine of the ranks"] = run.world ? shown(run.world->engine) : "none";
  facts["commit"] = run.identity.git_commit + (run.identity.git_dirty ? ", modified" : "");
  return facts;
}

SetUpPart part_of(const std::string& fact) {
  if (fact == "data") return SetUpPart::kAlways;  // by its hash: the setting is a path
  if (const Setting* setting = SettingTable::instance().find(fact)) return setting->part;
  constexpr std::array kChosen = {"usable cores", "governor"};
  constexpr std::array kExempt = {"commit", "compiler", "processor"};
  const auto among = [&](const auto& names) {
    return std::find(names.begin(), names.end(), fact) != names.end();
  };
  if (among(kExempt)) return SetUpPart::kExempt;
  if (among(kChosen) || fact.starts_with("software ")) return SetUpPart::kChosen;
  return SetUpPart::kAlways;
}

}  // namespace harness
