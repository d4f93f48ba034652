// Threads, batch size and precision of a run of inference, chosen by a short measurement.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/plan/plan.hpp"
#include "harness/result/result_common.hpp"
#include "harness/result/set_up_trials.hpp"

namespace harness {

/// Chooses what `plan` leaves to measuring, and puts it into the plan. The runs of one series, in
/// `out`, and of one campaign take what the first of them chose. Each number of threads, and each
/// precision, is tried in a process of its own, so that nothing of it is left in this one, which
/// must not have started threads yet. Empty where there was nothing to choose, or the usual set-up
/// could not be tried: then the run itself says why. Throws Interrupted.
std::optional<SetUpTrials> choose_set_up(RunPlan& plan, const std::filesystem::path& out,
                                         const std::string& series_id,
                                         const std::optional<CampaignPlace>& campaign);

}  // namespace harness
