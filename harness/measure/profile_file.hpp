// A profile from a file, and the step that it models, for the commands that look into profiles.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"
#include "harness/profile/what_if.hpp"
#include "harness/result/profile.hpp"
#include "harness/workload/workload.hpp"

namespace harness {

/// Throws Error for a file that is no sound profile.
Profile read_profile(const std::string& file);

/// Takes out of a profile's request what this machine cannot do: CPUs that it does not have to pin
/// to, and, unless they were asked for now, more threads than run at once. Says so in `notes`.
void fit_to_machine(RunRequest& request, bool threads_asked, std::vector<std::string>& notes);

/// Says in `notes` what makes a profile doubtful: a run that was aborted, a machine unfit to
/// measure.
void note_doubts(const Profile& profile, std::vector<std::string>& notes);

/// Says so when the same primitives now take another time than when the profile was taken.
void note_slowdown(double slowdown, std::vector<std::string>& notes);

/// The profile's step under the precision and the batch of `context`. Throws Error where it holds
/// no primitive or does not tell of them; adds what is not known to `notes`.
StepModel model_of(const Profile& profile, const WorkloadContext& context,
                   std::vector<std::string>& notes);

/// B/s, as sampled beside the profile; empty where it was not.
std::optional<double> copy_bandwidth_of(const Profile& profile);

}  // namespace harness
