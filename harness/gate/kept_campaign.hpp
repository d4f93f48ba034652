// Campaigns that lie in folders: their verdicts, and how far those came that have none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/gate/report.hpp"
#include "harness/gate/rules.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// The folders of campaigns among `paths` and below them, in order. What cannot be read is passed
/// over.
std::vector<std::filesystem::path> campaign_folders(const std::vector<std::string>& paths);

struct KeptCampaign {
  GateReport report{};
  bool ended = false;  ///< else `report` is how far it came, and no verdict
};

/// The verdict that was kept with the campaign. Without one it is judged by `rules`, from its
/// campaign.jsonl or times.jsonl and from `runs`, those in its folder: it ended where the clusters
/// that its plan has are there. Throws Error for files that are none of a campaign, and as
/// gate_results() does.
KeptCampaign read_campaign(const std::filesystem::path& folder, const std::vector<Result>& runs,
                           const GateRules& rules);

}  // namespace harness
