// What a profile says should be done next, and what it would bring: the generic method of arXiv
// 2206.10034 (profile, project, optimise) as rules. Each expected gain is a sum over rows of the
// profile and measured costs of this machine; none is a rule of thumb.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/profile/remedy.hpp"
#include "harness/profile/tables.hpp"

namespace harness {

/// A remedy that can be had, with seconds a step of its replays as recorded and as run again here.
/// Empty: there are none, or not all of them could be run.
struct OfferedRemedy {
  Remedy remedy{};
  std::optional<double> recorded_seconds{}, replayed_seconds{};
};

/// What is known beside the profile.
struct AdviceFacts {
  std::string allocator{}, precision{};
  int threads = 1;
  int usable_cores = 1;  ///< threads that a run takes by default
  /// Changes that the workload and this machine allow, those of kernels included.
  std::vector<AdvisedChange> possible{};
  double step_seconds = 0;    ///< of a plain step
  double fault_seconds = 0;   ///< of a page fault here, for a profile that does not tell its own
  double copy_bandwidth = 0;  ///< B/s beside the profile; 0: not known
  std::vector<OfferedRemedy> remedies{};
  std::optional<double> projected_bf16{};  ///< seconds of a step
};

/// Advice that brings at least one percent of a step, or whose gain is unknown. Changes that keep
/// the arithmetic come first, each group by expected gain.
std::vector<Advice> advise(const ProfileTables& tables, const AdviceFacts& facts);

/// Seconds of a plain step that are neither primitives and kernels at work nor a gain expected of
/// `advice` that keeps the arithmetic.
double unexplained_seconds(const ProfileTables& tables, double step_seconds,
                           const std::vector<Advice>& advice);

}  // namespace harness
