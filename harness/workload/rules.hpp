// Run rules as data: rules/NAME.json, or another file of that form. Nothing here is code; the
// operators are a closed list.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/result/result.hpp"
#include "harness/result/variant_settings.hpp"
#include "harness/workload/model_task.hpp"
#include "harness/workload/scenario_info.hpp"

namespace harness {

/// One condition on the result document. `path` is a JSON pointer.
struct Constraint {
  std::string rule{};  ///< short name for messages
  std::string path{};
  std::string op{};  ///< equals | starts_with | one_of | at_least | at_most | present
  nlohmann::json value{};
  std::string hint{};
};

/// What a task's reference kernels reached in fp32, once and for all; the target is a share of it.
struct FrozenQuality {
  double value = 0;
  double share = 0;           ///< of `value`, above 0, at most 1
  std::string data_sha256{};  ///< of the data that it was measured on
};

struct QualityRule {
  std::string metric{};
  Direction direction = Direction::kHigher;
  double target = 0;
  /// What the metric can be at all; a target at an end of it or beyond makes no sense.
  std::optional<double> lowest{};
  std::optional<double> highest{};
  std::optional<FrozenQuality> fp32{};
};

/// What a tier says in place of the file's own words; empty: as the file says.
struct TierOverrides {
  std::optional<QualityRule> quality{};
  std::optional<bool> mlperf_equivalent{};
  std::optional<std::vector<Constraint>> closed{};
};

/// How long a run is. Times in seconds; `runs` is the number of results in a complete series.
struct Tier {
  std::string summary{};
  std::string unavailable{};  ///< not empty: why this tier cannot be run
  std::int64_t batch_size = 1;
  bool any_batch_size = false;           ///< another one is no departure
  std::string scenario{};                ///< how the workload is driven
  std::vector<std::string> given{};      ///< the keys in the file that not every scenario reads
  std::map<std::string, double> more{};  ///< the values of a scenario's own keys
  /// Epochs at most, in a scenario that counts them; else 0.
  std::int64_t max_epochs = 0;
  /// A run that trains to a target saves its state this often, and after each epoch.
  double checkpoint_seconds = 60;
  std::int64_t warmup_steps = 0;
  std::int64_t min_steps = 1;  ///< timed steps
  double min_seconds = 0;      ///< timed steps together
  double max_seconds = 0;      ///< give up after this much; 0: no limit
  std::int64_t runs = 1;
  std::optional<std::uint32_t> seed{};  ///< empty: from the operating system's entropy
  TierOverrides instead{};
  /// The tier as it is in other scenarios, which are no departure either.
  std::vector<Tier> scenarios{};

  /// As it is in that scenario; as it is where it names no such one.
  const Tier& in_scenario(const std::string& name) const;
  /// All that it may be driven by, its own first.
  std::vector<std::string> scenario_names() const;
  /// Of a scenario's own keys; `otherwise` where it has no such one.
  double key(const std::string& name, double otherwise = 0) const;
};

/// A variant of the workload's ablation, its settings complete: those of the variant it builds on
/// and its own.
struct VariantRule {
  std::string name{};
  std::string summary{};
  std::string builds_on{};     ///< a variant before it; empty for the first
  VariantSettings settings{};  ///< kernels: those that are not `reference`
};

/// How `harness ablate` measures the workload.
struct AblationRule {
  /// Before the timed rounds, in files of one process (until 1.2.0); processes of their own warm up
  /// as their tier says.
  std::int64_t warmup_rounds = 2;
  std::int64_t rounds = 6;          ///< in each cluster, at least
  std::int64_t clusters = 6;        ///< the fewest that give an interval
  std::int64_t steps_per_turn = 1;  ///< more where a step is short
  std::vector<VariantRule> variants{};
};

struct Rules {
  std::string workload{};
  std::string version{};
  std::string summary{};
  std::string file{};    ///< rules/NAME.json, or the name of a file given with --rules
  std::string sha256{};  ///< of the file's bytes; of a task: task_file.hpp
  bool mlperf_equivalent = false;
  std::string default_tier{};
  std::map<std::string, std::string> defaults{};  ///< of settings, by their names
  std::map<std::string, Tier> tiers{};
  std::vector<std::string> finite_metrics{};  ///< tags whose every sample must be finite
  std::optional<QualityRule> quality{};
  std::optional<AblationRule> ablation{};
  /// Numbers of training samples, whose activations set the ranges of int8; empty: none.
  std::vector<std::int64_t> calibration{};
  std::optional<ModelTask> model{};  ///< of a task file
  std::vector<Constraint> closed{};  ///< broken: the division is `open`
  std::vector<Constraint> valid{};   ///< broken: the result is invalid, in any division

  /// Throws Error with the nearest names; for an unavailable tier, with its reason.
  const Tier& tier(const std::string& name) const;
  /// These rules as they are in that tier, in that scenario of it; unchanged where there is no such
  /// tier.
  Rules in_tier(const std::string& name, const std::string& scenario) const;
};

/// Constraints that the result document breaks. `only_below` limits them to one part of the
/// document
/// ("/settings/" for what is known before the run).
std::vector<Departure> find_departures(const std::vector<Constraint>& constraints,
                                       const nlohmann::json& document,
                                       const std::string& only_below = "/");

/// Why `target` is none for `rule`: outside what the metric can be. Empty when it is one.
std::string target_misfit(const QualityRule& rule, double target);

/// One violation when `report` does not reach what `rule` asks for; `path` is where the report
/// stands. Where the target does not apply, a report without one is none.
void check_quality(const QualityRule& rule, const std::optional<QualityReport>& report,
                   const std::string& path, std::vector<Violation>& violations,
                   bool target_applies = true);

/// Why `tier` cannot be run in that scenario, in words; empty when it can.
std::string scenario_misfit(const ScenarioInfo& scenario, const Tier& tier);

/// One violation for each constraint that `document` breaks.
void check_constraints(const std::vector<Constraint>& constraints, const nlohmann::json& document,
                       std::vector<Violation>& violations);

/// Everything in `result` (with its JSON form `document`, run in that scenario) that breaks
/// `rules`: lengths, finite metrics, quality, constraints. Used after a run and again by
/// `validate`.
std::vector<Violation> check_rules(const Rules& rules, const ScenarioInfo& scenario,
                                   const Result& result, const nlohmann::json& document);

}  // namespace harness
