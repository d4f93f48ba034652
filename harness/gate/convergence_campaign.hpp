// Whole trainings to a target, in turn, until the gate can tell whether both sides converge alike.
#pragma once

#include "harness/gate/campaign.hpp"
#include "harness/gate/report.hpp"

namespace harness {

/// `options` as for run_campaign(), of commands that train to a target. Each pair trains with a
/// seed of its own, the same on both sides; how many there will be follows from the budget and what
/// the first one cost. Trainings that are equal to the last bit end it at once. A run that fails is
/// tried once more; then the candidate's failure is a regression, the baseline's throws Error.
GateReport run_convergence_campaign(const CampaignOptions& options, const CampaignHooks& hooks);

}  // namespace harness
