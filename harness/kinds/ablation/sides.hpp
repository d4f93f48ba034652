// Variants and peers of an ablation as commands for sides in lockstep.
#pragma once

#include <filesystem>
#include <string>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/plan/ablation_plan.hpp"

namespace harness {

/// For /bin/sh: this program as a resident side that does what `plan` says, and leaves its result
/// in the new folder `out`.
std::string variant_command(const RunPlan& plan, const std::filesystem::path& out);

/// The peer with the SHA-256 of its program and of all other files that its command names.
Peer peer_of(const PeerCommand& command);

}  // namespace harness
