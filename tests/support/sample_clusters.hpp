// Clusters of two sides in lockstep, made up.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/lockstep/cluster.hpp"

namespace harness {

struct MadeUpStep {
  double seconds = 1;
  double loss = 0;
};

inline SideTurns made_up_side(const char* name, double start,
                              const std::vector<MadeUpStep>& steps) {
  SideTurns side;
  side.name = name;
  side.hello.name = std::string("a ") + name;
  side.start_seconds = start;
  std::int64_t round = 0;
  for (const MadeUpStep& step : steps) {
    LockstepTurn turn{++round, 1, {}};
    turn.timed.answer.seconds = {step.seconds};
    turn.timed.answer.losses["total"] = {step.loss};
    turn.timed.parent_seconds = step.seconds;
    side.turns.push_back(turn);
  }
  return side;
}

inline ClusterRecord made_up_cluster(std::int64_t number, SideTurns baseline, SideTurns candidate) {
  ClusterRecord record;
  record.cluster = number;
  record.seconds = 100;
  record.sides = {std::move(baseline), std::move(candidate)};
  return record;
}

}  // namespace harness
