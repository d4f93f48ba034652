// What advice about a profile needs beside the profile: what machine and workload allow, what
// replays tell, and the command that tries it.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/plan.hpp"
#include "harness/profile/advice.hpp"
#include "harness/result/profile.hpp"

namespace harness {

/// Runs replays; what cannot be told of them goes to `notes`. `request` is what `plan` was made of.
/// Throws Interrupted.
AdviceFacts advice_facts(const Profile& profile, RunPlan& plan, const RunRequest& request,
                         std::vector<std::string>& notes);

/// The command of the ablation that begins with the profile's own set-up and ends with the last of
/// the changes that leave the arithmetic as it is, on the same task, rules, data and settings.
/// Empty where the rules have no such variants.
std::string ablation_command(const RunPlan& plan, const std::vector<Advice>& advice);

}  // namespace harness
