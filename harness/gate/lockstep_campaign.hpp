// Resident sides in lockstep, cluster after cluster, until the gate can tell.
#pragma once

#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/gate/report.hpp"

namespace harness {

/// What messages call the third side.
inline constexpr const char* kAnchorName = "anchor";

/// A side that is a `harness run` cannot step when told.
class NoLockstep : public NeverBegan {
 public:
  using NeverBegan::NeverBegan;
};

/// The anchor ran under other rules than both sides, and its first steps are of no use.
class AnchorRules : public Error {
 public:
  explicit AnchorRules(std::string workload)
      : Error(kAnchorName, "ran under other rules"), workload_(std::move(workload)) {}

  const std::string& workload() const { return workload_; }

 private:
  std::string workload_;
};

/// `options` as for run_campaign(). A `harness run` gets `--lockstep` and an --out for each
/// cluster, whose results say what was compared; any other command has to speak the protocol of
/// docs/lockstep.md. How many clusters there will be follows from the budget and what the first one
/// cost. A side that fails is tried once more; then the candidate's failure is a regression, and
/// the baseline's throws Error. An anchor that fails, or cannot be compared, is left out with a
/// note. Throws NoLockstep before anything was measured, AnchorRules behind the first cluster
/// unless the anchor has --rules, and as run_campaign() does, with the exit code of "invalid" where
/// a side's clock and ours disagree.
GateReport run_lockstep_campaign(const CampaignOptions& options, const CampaignHooks& hooks);

}  // namespace harness
