#include "harness/kinds/ablation/turns_consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace harness {
namespace {

class Checker {
 public:
  Checker(const Ablation& ablation, ProblemList& problems)
      : ablation_(ablation), problems_(problems), clusters_(clusters_of(ablation)) {
    const nlohmann::json& effective = ablation.settings.effective;
    warmup_rounds_ = effective.value("warmup_rounds", std::int64_t{0});
    planned_rounds_ = warmup_rounds_ + effective.value("rounds", std::int64_t{0});
    steps_per_turn_ = effective.value("steps_per_turn", std::size_t{1});
  }

  void check() {
    for (std::size_t i = 0; i < ablation_.variants.size(); ++i) {
      const std::vector<Turn>& turns = ablation_.variants[i].turns;
      clusters_ > 0 ? in_clusters(i) : in_one_process(i);
      for (std::size_t k = 0; k < turns.size(); ++k) turn(turns[k], path_of(i, k));
    }
    if (clusters_ > 0) whole_rounds();
  }

 private:
  using Unit = std::pair<std::int64_t, std::int64_t>;   // cluster and group
  using Place = std::pair<std::int64_t, std::int64_t>;  // round, and place in it

  static std::string path_of(std::size_t i) { return fmt::format("/variants/{}/turns", i); }
  static std::string path_of(std::size_t i, std::size_t k) {
    return fmt::format("/variants/{}/turns/{}", i, k);
  }
  bool ended() const { return ablation_.status.state == RunState::kValid; }

  // Until 1.2.0: only whole rounds are kept, so each variant has a turn in each of them, forwards
  // in odd rounds, backwards in even ones.
  void in_one_process(std::size_t i) {
    const std::vector<Turn>& turns = ablation_.variants[i].turns;
    const std::size_t rounds = ablation_.variants.front().turns.size();
    problems_.expect(turns.size() == rounds &&
                         (!ended() || static_cast<std::int64_t>(rounds) == planned_rounds_),
                     path_of(i),
                     fmt::format("{} turns, where the first variant has {} and {} were planned",
                                 turns.size(), rounds, planned_rounds_));
    const auto count = std::ssize(ablation_.variants);
    for (std::size_t k = 0; k < turns.size(); ++k) {
      const Turn& turn = turns[k];
      problems_.expect(turn.cluster == 0 && turn.group == 0, path_of(i, k) + "/cluster",
                       "there, without clusters in the settings");
      problems_.expect(turn.round == static_cast<std::int64_t>(k + 1), path_of(i, k) + "/round",
                       fmt::format("{}, but it is turn {}", turn.round, k + 1));
      const auto place = static_cast<std::int64_t>(i);
      const std::int64_t order = turn.round % 2 == 1 ? place + 1 : count - place;
      problems_.expect(turn.order == order, path_of(i, k) + "/order",
                       fmt::format("{}: rounds go forwards and backwards in turn", turn.order));
    }
  }

  // In each cluster the rounds count from 1; only those of the last one may have broken off.
  void in_clusters(std::size_t i) {
    const std::vector<Turn>& turns = ablation_.variants[i].turns;
    std::int64_t next = 1;
    std::set<Unit> seen;
    for (std::size_t k = 0; k < turns.size(); ++k) {
      const Unit unit = {turns[k].cluster, turns[k].group};
      const bool begins = seen.insert(unit).second;
      problems_.expect(unit.first >= 1 && unit.first <= clusters_, path_of(i, k) + "/cluster",
                       fmt::format("{}, but {} were planned", unit.first, clusters_));
      problems_.expect(unit.second >= 1, path_of(i, k) + "/group", "missing");
      if (begins) next = 1;
      problems_.expect(turns[k].round == next, path_of(i, k) + "/round",
                       fmt::format("{}, but it is turn {} of its cluster", turns[k].round, next));
      ++next;
      ++turns_of_[unit][i];
    }
    std::set<std::int64_t> groups;
    for (const Unit& unit : seen) groups.insert(unit.second);
    problems_.expect(i == 0 || groups.size() <= 1, path_of(i),
                     "are in several groups; only the first variant is in all");
    const auto expected =
        clusters_ * planned_rounds_ * std::max<std::int64_t>(1, std::ssize(groups));
    problems_.expect(!ended() || std::ssize(turns) == expected, path_of(i),
                     fmt::format("{} turns, but {} were planned", turns.size(), expected));
  }

  // Whoever was in memory together has a turn in each round, and a place of its own in it.
  void whole_rounds() {
    for (const auto& [unit, variants] : turns_of_) {
      problems_.expect(variants.contains(0), path_of(0),
                       fmt::format("none in cluster {} of group {}", unit.first, unit.second));
      for (const auto& [i, count] : variants) {
        problems_.expect(count == variants.begin()->second, path_of(i),
                         fmt::format("{} in cluster {}, where others have {}", count, unit.first,
                                     variants.begin()->second));
      }
      places(unit, std::ssize(variants));
    }
  }

  void places(const Unit& unit, std::ptrdiff_t count) {
    std::map<Place, std::vector<std::string>> paths;
    for (std::size_t i = 0; i < ablation_.variants.size(); ++i) {
      for (std::size_t k = 0; k < ablation_.variants[i].turns.size(); ++k) {
        const Turn& turn = ablation_.variants[i].turns[k];
        if (Unit{turn.cluster, turn.group} != unit) continue;
        paths[{turn.round, turn.order}].push_back(path_of(i, k) + "/order");
      }
    }
    for (const auto& [place, same] : paths) {
      const bool fits = same.size() == 1 && place.second >= 1 && place.second <= count;
      for (const std::string& path : same) {
        problems_.expect(fits, path,
                         fmt::format("{}: each of {} has a place of its own", place.second, count));
      }
    }
  }

  void turn(const Turn& turn, const std::string& path) {
    problems_.expect(turn.warmup == (turn.round <= warmup_rounds_), path + "/warmup",
                     fmt::format("{} in round {}, with {} warm-up rounds", turn.warmup, turn.round,
                                 warmup_rounds_));
    problems_.expect(
        turn.step_seconds.size() == steps_per_turn_, path + "/step_seconds",
        fmt::format("{} steps, but a turn has {}", turn.step_seconds.size(), steps_per_turn_));
    for (const auto& [phase, seconds] : turn.phase_seconds) {
      problems_.expect(
          seconds.size() == turn.step_seconds.size(),
          fmt::format("{}/phase_seconds/{}", path, pointer_step(phase)),
          fmt::format("{} numbers for {} steps", seconds.size(), turn.step_seconds.size()));
    }
    phases_within_steps(turn, path);
  }

  void phases_within_steps(const Turn& turn, const std::string& path) {
    const double rounding = kClockRounding * static_cast<double>(turn.phase_seconds.size() + 1);
    for (std::size_t k = 0; k < turn.step_seconds.size(); ++k) {
      double sum = 0;
      for (const auto& [phase, seconds] : turn.phase_seconds) {
        if (k >= seconds.size()) continue;
        sum += seconds[k];
        problems_.expect(seconds[k] >= 0,
                         fmt::format("{}/phase_seconds/{}/{}", path, pointer_step(phase), k),
                         "no time is below 0");
      }
      if (sum <= turn.step_seconds[k] * (1 + 1e-9) + rounding) continue;
      problems_.expect(
          false, fmt::format("{}/step_seconds/{}", path, k),
          fmt::format("{} s, but its phases together took {} s", turn.step_seconds[k], sum));
    }
  }

  const Ablation& ablation_;
  ProblemList& problems_;
  const std::int64_t clusters_;
  std::int64_t warmup_rounds_ = 0;
  std::int64_t planned_rounds_ = 0;
  std::size_t steps_per_turn_ = 1;
  std::map<Unit, std::map<std::size_t, std::int64_t>> turns_of_{};  ///< by variant
};

}  // namespace

void check_turns(const Ablation& ablation, ProblemList& problems) {
  Checker(ablation, problems).check();
}

}  // namespace harness
