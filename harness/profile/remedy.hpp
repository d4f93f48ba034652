// What a change would bring to a profiled step. Kernels register their remedies beside themselves:
// what they replace there, and how that is priced from the profile. No kernel is known here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/profile/projection.hpp"
#include "harness/profile/tables.hpp"

namespace harness {

/// A setting to try: {"allocator", "pooled"}, {"precision", "bf16"}, or a kernel by its operator.
struct AdvisedChange {
  std::string setting{};
  std::string value{};

  auto operator<=>(const AdvisedChange&) const = default;
};

struct Advice {
  std::string topic{};                       ///< memory, slow implementations, threads, ...
  std::string finding{};                     ///< what the profile shows, a sentence with figures
  std::string basis{};                       ///< what the expected gain is computed from
  std::optional<AdvisedChange> change{};     ///< empty: no setting of this program does it
  std::optional<double> expected_seconds{};  ///< saved a step; empty: cannot be told from here
  bool changes_numbers = false;  ///< other arithmetic: the model has to be verified again
  double primitive_seconds = 0;  ///< part of expected_seconds: saved in primitives and kernels
};

/// What a remedy is priced from.
struct PricedStep {
  const ProfileTables& tables;
  double bandwidth = 0;        ///< B/s of what streams through memory; 0: not known
  double fault_seconds = 0;    ///< of a page fault here, where the profile does not tell its own
  double system_factor = 1;    ///< of a second in the operating system: harness::system_factor()
  bool without_faults = true;  ///< the gaps: see gap()
  double unrecorded = 1;  ///< of what was outside of primitives, the part that a plain step has
  /// Seconds a step of the remedy's replays, as recorded and as run again. Empty: there are none.
  std::optional<double> recorded{}, replayed{};

  /// Of what a row took, the part that its page faults cost.
  double fault_cost(const OperatorRow& row) const;
  /// Seconds of a row outside of primitives, without what recording cost. Where memory is kept
  /// between steps, the few faults there are stay; where it is not, that is the first thing to
  /// mend, and what else there is to gain is counted without them.
  double gap(const OperatorRow& row) const;
};

struct Remedy {
  AdvisedChange change{};
  /// What the change would bring to this step; its `change` need not be filled in. Empty: nothing.
  std::function<std::optional<Advice>(const PricedStep&)> price{};
  /// Primitives of the step, to be run again as the change would run them. Empty: none are.
  std::function<std::vector<ReplayTask>(const ProfileTables&)> replays{};
};

/// The registration line: `const RegisterRemedy registered({{"OPERATOR", "custom"}, price});`
struct RegisterRemedy {
  explicit RegisterRemedy(Remedy remedy);
};

/// Convolutions that no kernel of this project runs yet and that are `wanted`, as tasks for one
/// that does.
std::vector<ReplayTask> convolutions_for_own(const ProfileTables& tables,
                                             const std::function<bool(const Primitive&)>& wanted);

/// What a remedy's replays by kernels of this project would bring. Empty: it has none.
std::optional<Advice> gain_of_replays(const PricedStep& step, const std::string& topic);

/// Those registered for one of `changes`, by change.
std::vector<Remedy> remedies_of(const std::vector<AdvisedChange>& changes);

}  // namespace harness
