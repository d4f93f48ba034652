// Who owns the loop of a run: one small class for each way, found by its name.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/scenario/session.hpp"
#include "harness/workload/rules.hpp"
#include "harness/workload/scenario_info.hpp"

namespace harness {

struct ScenarioOptions {
  Tier tier{};  ///< as it will be: its lengths, and in `more` all keys of the scenario
  std::optional<double> quality_target{};
  bool evaluate = true;
  /// Of a run that trains to a target; its last Resumption is this one.
  std::optional<EpochState> resume_from{};
  std::filesystem::path logs{};  ///< folder for logs of the scenario's own, which it creates
};

struct RunRecord : SessionRecord {
  std::vector<Metric> metrics{};     ///< not yet summarised
  std::optional<Quality> quality{};  ///< as last evaluated
  std::optional<TrainingReport> training{};
  std::optional<LoadGenReport> loadgen{};
  std::optional<double> peak_memory_bytes{};  ///< of the steps; what evaluating takes is left out
  bool recording_broke_off = false;  ///< the last step that was recorded did not come to its end
};

class Scenario {
 public:
  explicit Scenario(ScenarioInfo info) : info_(std::move(info)) {}
  virtual ~Scenario() = default;

  const ScenarioInfo& info() const { return info_; }
  /// Throws Error where the workload cannot do what is asked of it here.
  virtual void check(Workload& workload) const = 0;
  /// Throws Error where what was chosen (as in WorkloadContext) cannot be done in that tier, or not
  /// with so many bytes of memory. Needs no workload, so it comes before all work.
  virtual void check_chosen(const Tier& /*tier*/,
                            const std::map<std::string, std::string>& /*chosen*/,
                            std::optional<double> /*memory*/) const {}
  /// Runs the workload once: prepares it, warms it up, times it. Errors before the first step
  /// propagate; from then on every outcome is a record. Prints nothing.
  virtual RunRecord run(Workload& workload, WorkloadContext& context,
                        const ScenarioOptions& options, const SessionHooks& hooks,
                        const std::vector<Observer*>& observers) const = 0;
  /// What a result says otherwise than the scenario has it in that tier of the rules it names.
  virtual std::vector<Violation> broken_rules(const Tier& /*tier*/,
                                              const Result& /*result*/) const {
    return {};
  }

 protected:
  /// For check().
  template <class Capability>
  void demand_of(Workload& workload) const {
    demand<Capability>(workload, "scenario '" + info_.name + "'");
  }

 private:
  ScenarioInfo info_;
};

/// Throws Error with the nearest names when there is no such scenario.
const Scenario& find_scenario(const std::string& name);
/// All there are.
const ScenarioInfos& scenario_infos();

/// The registration line of a scenario outside of this folder. Throws std::logic_error for a name
/// that is taken.
struct RegisterScenario {
  explicit RegisterScenario(std::unique_ptr<Scenario> scenario);
};

}  // namespace harness
