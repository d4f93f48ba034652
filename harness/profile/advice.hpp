// What a profile says should be done next, and what it would bring: the generic method of arXiv
// 2206.10034 (profile, project, optimise) as rules. Each expected gain is a sum over rows of the
// profile and measured costs of this machine; none is a rule of thumb.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/profile/projection.hpp"
#include "harness/profile/tables.hpp"

namespace harness {

/// A setting to try: {"allocator", "pooled"}, {"precision", "bf16"}, {"focal-loss", "custom"} (a
/// kernel, by its operator).
struct AdvisedChange {
  std::string setting{};
  std::string value{};

  auto operator<=>(const AdvisedChange&) const = default;
};

struct Advice {
  std::string topic{};                    ///< memory, focal loss, frozen norm and ReLU chains, ...
  std::string finding{};                  ///< what the profile shows, a sentence with figures
  std::string basis{};                    ///< what the expected gain is computed from
  std::optional<AdvisedChange> change{};  ///< empty: no setting of this program does it
  std::optional<double> expected_seconds{};  ///< saved a step; empty: cannot be told from here
  bool changes_numbers = false;  ///< other arithmetic: the model has to be verified again
};

/// What is known beside the profile.
struct AdviceFacts {
  std::string allocator{}, precision{};
  int threads = 1;
  int usable_cores = 1;  ///< threads that a run takes by default
  /// Changes that the workload and this machine allow, those of kernels included.
  std::vector<AdvisedChange> possible{};
  double step_seconds = 0;    ///< of a plain step
  double fault_seconds = 0;   ///< of a page fault here, measured
  double copy_bandwidth = 0;  ///< B/s beside the profile; 0: not known
  /// Seconds of grouped convolutions a step as recorded, and as kernels of ours run them here.
  std::optional<double> grouped_recorded{}, grouped_replayed{};
  std::optional<double> projected_bf16{};  ///< seconds of a step
};

/// Grouped convolutions that no kernel of ours runs yet, as tasks for one that does.
std::vector<ReplayTask> grouped_tasks(const ProfileTables& tables);

/// Advice that brings at least one percent of a step, or whose gain is unknown. Changes that keep
/// the arithmetic come first, each group by expected gain.
std::vector<Advice> advise(const ProfileTables& tables, const AdviceFacts& facts);

}  // namespace harness
