// The machines that the ranks of a run are on, and how their CPUs are dealt out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"

namespace harness {

/// Where a rank runs, and its part of what there is.
struct RankSite {
  int node = 0;             ///< machines are counted from 0, in the order of their first ranks
  std::string cpu_model{};  ///< empty: not told
  int ranks_here = 1;       ///< of the world, on this machine
  int part = 0;             ///< of the CPUs that it shares with others, from 0
  int parts = 1;
};

/// What the process that starts a rank says of its machine: `cpus` are those that its ranks may
/// use; empty: all that this process may.
nlohmann::json site_here(const std::vector<int>& cpus);

/// By rank, of what each said.
std::vector<RankSite> sites_of(const std::vector<nlohmann::json>& said);

/// Threads that each rank gets where none were asked for: as many as the least of them has cores
/// for.
int common_threads(const std::vector<nlohmann::json>& said, const std::vector<RankSite>& sites);

/// On the machine of the site.
std::vector<int> cpus_of(const RankSite& site, const std::vector<int>& cpus);

}  // namespace harness
