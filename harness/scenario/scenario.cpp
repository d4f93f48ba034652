#include "harness/scenario/scenario.hpp"

#include <map>
#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/scenario/epochs.hpp"
#include "harness/scenario/loadgen/scenarios.hpp"
#include "harness/scenario/steps.hpp"

namespace harness {
namespace {

struct Registry {
  // A line for each of ours: a library's file that nobody names is not linked.
  Registry() {
    add(steps_scenario());
    add(epochs_scenario());
    for (auto& scenario : loadgen_scenarios()) add(std::move(scenario));
  }

  void add(std::unique_ptr<Scenario> scenario) {
    const std::string& name = scenario->info().name;
    if (!infos.emplace(name, scenario->info()).second) {
      throw std::logic_error("scenario registered twice: " + name);
    }
    scenarios.push_back(std::move(scenario));
  }

  std::vector<std::unique_ptr<Scenario>> scenarios;
  ScenarioInfos infos;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

const Scenario& find_scenario(const std::string& name) {
  for (const auto& scenario : registry().scenarios) {
    if (scenario->info().name == name) return *scenario;
  }
  throw Error("scenario '" + printable(name) + "'", "unknown",
              did_you_mean(name, names_of(scenario_infos())));
}

const ScenarioInfos& scenario_infos() { return registry().infos; }

RegisterScenario::RegisterScenario(std::unique_ptr<Scenario> scenario) {
  registry().add(std::move(scenario));
}

}  // namespace harness
