// Sides that are started anew, step in turn, and end: one cluster, the independent unit of every
// interval, since memory layout and much else differ from process to process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/lockstep/side.hpp"

namespace harness {

struct LockstepPlan {
  std::int64_t rounds = 20;
  // Of all sides alike, so that they stay in step. Nothing: as measuring shows, behind the start of
  // the sides (lockstep/settling.hpp).
  std::optional<std::int64_t> steps_per_turn = 1;
  std::optional<std::int64_t> settle = 0;  ///< untimed, before; who asks for more has them
  double slice_seconds = 0.05;  ///< of steps that may be cut up (docs/lockstep.md); 0: none is
  bool evaluate = false;        ///< each side, behind the last round
  std::string unit{};           ///< that each side must count in; empty: any
  SidePatience patience{};
};

struct LockstepTurn {
  std::int64_t round = 0;  ///< 1-based
  std::int64_t place = 0;  ///< in its round, 1-based
  TimedAnswer timed{};
};

struct SideTurns {
  std::string name{};
  SideHello hello{};
  double start_seconds = 0;  ///< from its start until it was ready
  std::vector<LockstepTurn> turns{};
  double idle_cpu_seconds = 0;  ///< processor time it took while others had their turns,
  double idle_seconds = 0;      ///< and how long these were
  std::optional<Quality> quality{};
  int exit_code = 0;
};

struct ClusterRecord {
  std::int64_t cluster = 0;         ///< 1-based
  double seconds = 0;               ///< from the first start to the last end
  double rounds_seconds = 0;        ///< of these, all rounds with what lies between turns
  std::int64_t steps_per_turn = 1;  ///< of the plan, or as measured
  std::int64_t settle = 0;          ///< likewise
  double slice_seconds = 0;         ///< 0: every step was taken at one go
  std::vector<SideTurns> sides{};
  std::string failed{};   ///< the name of the side that failed; empty: none did
  std::string failure{};  ///< why
};

using TurnDone = std::function<void(std::size_t side, const LockstepTurn& turn)>;

/// Runs the cluster of that number. `cluster` decides which side is started, and steps, first. A
/// side that fails, or diverges, ends it; what was measured until then is in the record. Throws
/// Interrupted, and Error where a side cannot be started. `turn_done` is called after each turn of
/// the side with that index, but for one that diverged in an untimed step; what it throws ends the
/// cluster and is thrown on.
ClusterRecord run_cluster(const std::vector<SideCommand>& sides, const LockstepPlan& plan,
                          std::int64_t cluster, const TurnDone& turn_done = {});

}  // namespace harness
