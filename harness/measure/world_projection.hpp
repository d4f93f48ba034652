// A projected step on more ranks: what is needed of a profile, and of a measured network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/profile/communication.hpp"
#include "harness/result/profile.hpp"

namespace harness {

/// The workload whose results tell of a network.
inline constexpr const char* kNetworkWorkload = "allreduce";

/// `step_seconds` is what one rank's step would take by itself. Throws Error for a profile that
/// does not tell of gradients, and a file that is no result of a network; says in `notes` what
/// makes it doubtful.
WorldProjection project_world(const Profile& profile, double step_seconds, std::int64_t ranks,
                              const std::string& network_file, std::vector<std::string>& notes);

}  // namespace harness
