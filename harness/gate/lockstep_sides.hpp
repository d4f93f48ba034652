// The sides of a campaign in lockstep: how each cluster starts them, and what they told so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/gate/anchor.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/failures.hpp"
#include "harness/gate/lockstep_columns.hpp"
#include "harness/gate/report.hpp"
#include "harness/lockstep/doubts.hpp"

namespace harness {

/// What messages call them: "baseline", "candidate" and, where there is one, "anchor". Throws Error
/// for commands that cannot be the sides of one campaign.
std::vector<std::string> lockstep_names(const CampaignOptions& options);

/// Why a cluster cannot be judged; nothing where it can.
std::optional<FailedSide> failed_side(const ClusterRecord& record);

class LockstepSides {
 public:
  /// Of the campaign `id`. What lockstep_names() refuses is a precondition.
  LockstepSides(const CampaignOptions& options, const CampaignHooks& hooks, std::string id);
  LockstepSides(const LockstepSides&) = delete;
  LockstepSides& operator=(const LockstepSides&) = delete;

  /// Where a cluster's results are to go, below the campaign's folder: a try that failed, or was
  /// stopped, keeps its own.
  std::vector<std::string> vacant_folders(std::int64_t cluster) const;
  std::vector<SideCommand> commands(std::int64_t cluster,
                                    const std::vector<std::string>& folders) const;

  /// A cluster in which no side failed. Throws Error for a program that was replaced, a clock that
  /// lies and a result that is not sound. Of the anchor such trouble is returned instead; its part
  /// of the cluster is then lost. Precondition: it has the sides that there are.
  std::optional<AnchorTrouble> take_over(const KeptCluster& kept);
  void leave_out_anchor();
  /// Why the anchor cannot be held against such sides; empty: it can, or there is none.
  std::string anchor_misfit() const;
  bool anchored() const { return names_.size() > kAnchor; }

  /// Precondition: a cluster was taken over.
  CampaignDecision judge(const GatePlan& plan, GateReport& report) const;
  /// How many metrics are tested.
  std::size_t tested_metrics() const;
  /// Of the results; empty where the commands leave none.
  std::string workload() const;
  bool one_set_of_rules() const;  ///< of the baseline and the candidate
  /// What makes times doubtful, a busy machine among it.
  std::vector<std::string> notes() const;

 private:
  void take_side(std::size_t i, const KeptCluster& kept);
  void check_program(std::size_t i, const ClusterRecord& record);
  void check_clock(std::size_t i, const ClusterRecord& record);
  void take_results(std::size_t i, std::int64_t cluster, const std::string& folder);

  const CampaignOptions& options_;
  const CampaignHooks& hooks_;
  std::string id_;
  std::vector<std::string> names_;
  std::vector<AskedCommand> commands_;
  bool of_results_ = false;             ///< the baseline and the candidate both leave results
  std::vector<std::int64_t> doubtful_;  ///< clusters in which a clock seemed to lie
  std::vector<std::string> says_;       ///< what each calls itself
  std::vector<Side> sides_{};
  LockstepNumbers numbers_{};
  std::vector<std::string> notes_{};
  Waiting waiting_{};
};

}  // namespace harness
