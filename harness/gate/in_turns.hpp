// A campaign of two commands, by the most precise way that both can go.
#pragma once

#include "harness/gate/campaign.hpp"
#include "harness/gate/report.hpp"

namespace harness {

enum class Measuring {
  kAsFits,    ///< in lockstep where both are a `harness run` that can, else whole commands
  kLockstep,  ///< both speak its protocol
  kWhole,     ///< one command after the other
};

/// Runs it, or goes on with it. Where the sides have other rules for their workload, both run under
/// those of this program, if they can. Throws as run_campaign() and run_lockstep_campaign() do.
GateReport run_in_turns(CampaignOptions campaign, Measuring how, const CampaignHooks& hooks);

}  // namespace harness
