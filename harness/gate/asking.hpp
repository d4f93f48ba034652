// The commands of a new campaign, asked what they are.
#pragma once

#include <optional>

#include "harness/gate/campaign.hpp"
#include "harness/gate/in_turns.hpp"
#include "harness/gate/report.hpp"

namespace harness {

/// Asks each command of a new campaign once, and puts what it told into `campaign`; what they
/// printed is in kAskedFolder of the new folder campaign.out. Of another command than a `harness
/// run` or `suite` this is one whole run, which is not timed. Where one side is ours and the other
/// is not, they cannot be compared, and the report says so; sides that were said to speak the
/// protocol of lockstep may differ in that. Throws NeverBegan for a side that fails, Error for one
/// that cannot be used, and Interrupted. An anchor that fails tells nothing.
std::optional<GateReport> ask_sides(CampaignOptions& campaign, Measuring how,
                                    const CampaignHooks& hooks);

}  // namespace harness
