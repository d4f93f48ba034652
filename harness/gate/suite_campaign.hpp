// Two suites: their tasks' steps in lockstep first, then whole suites in turn.
#pragma once

#include "harness/gate/campaign.hpp"
#include "harness/gate/report.hpp"

namespace harness {

/// Within the campaign's folder that of the whole suites, and that of the tasks' steps.
inline constexpr const char* kSuitesFolder = "suites";
inline constexpr const char* kStepsFolder = "steps";

/// `options` as for run_campaign(), of two suites with the commands of their tasks' steps. Each
/// task is a campaign in lockstep, in the folder steps/TASK, with a budget of its own; the whole
/// suites get the rest of the time. Half of the error is for all of the steps together, half for
/// the suites. A task whose steps do not begin, or have too small a budget, is left to the suites,
/// with a note. Where the steps have regressed, or cannot be compared, no suite is run. Throws as
/// run_lockstep_campaign() and run_campaign() do.
GateReport run_suite_campaign(const CampaignOptions& options, const CampaignHooks& hooks);

}  // namespace harness
