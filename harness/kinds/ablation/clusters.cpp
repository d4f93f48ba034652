#include "harness/kinds/ablation/clusters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/kinds/ablation/sides.hpp"
#include "harness/lockstep/cluster.hpp"
#include "harness/lockstep/cluster_json.hpp"
#include "harness/lockstep/doubts.hpp"
#include "harness/measure/peak_schedule.hpp"
#include "harness/result/validate.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Clusters {
 public:
  Clusters(const AblationPlan& plan, const std::vector<std::vector<std::size_t>>& groups,
           fs::path work, SamplesFile& samples, const std::function<void(const std::string&)>& say)
      : plan_(plan),
        groups_(groups),
        work_(std::move(work)),
        samples_(samples),
        say_(say),
        lockstep_{.rounds = plan.rounds,
                  .steps_per_turn = plan.steps_per_turn,
                  .slice_seconds = 0,  // variants may differ by far more than cold caches cost
                  .evaluate = true,
                  .unit = plan.variants.front().plan.scenario->info().unit},
        peaks_(plan.variants.front().plan.context.threads) {
    record_.variants.resize(plan.variants.size() + plan.peers.size());
    clocks_.resize(record_.variants.size());
    // Where the rules give a turn several steps these are short, and the first ones behind another
    // side's turn slow: how many is measured in each group's first cluster.
    const bool settles = plan.steps_per_turn > 1;
    settle_.assign(groups.size(), settles ? std::nullopt : std::optional<std::int64_t>(0));
  }

  AblationRecord run() {
    try {
      run_all();
    } catch (const Interrupted&) {
      if (!measured()) throw;
      end(StopReason::kInterrupted, fmt::format("stopped in {}", now_));
      take_results_left();
    } catch (const Error& error) {
      if (!measured()) throw;
      end(StopReason::kFailed, error.what());
      take_results_left();
    }
    judge_clocks();
    return std::move(record_);
  }

 private:
  void run_all() {
    for (std::int64_t cluster = 1; cluster <= plan_.clusters; ++cluster) {
      for (std::size_t group = 0; group < groups_.size(); ++group) {
        now_ = fmt::format(
            "cluster {} of {}{}", cluster, plan_.clusters,
            groups_.size() == 1 ? "" : fmt::format(", group {} of {}", group + 1, groups_.size()));
        if (!run_cluster_of(cluster, group)) return;
        tell(cluster, group);
      }
    }
    record_.peaks = peaks_.finish();
    samples_.finished();
  }

  bool measured() const { return !record_.variants.front().turns.empty(); }

  void end(StopReason reason, std::string detail) {
    record_.stop = reason;
    record_.stop_detail = std::move(detail);
  }

  bool is_peer(std::size_t i) const { return i >= plan_.variants.size(); }
  const std::string& name_of(std::size_t i) const {
    return is_peer(i) ? plan_.peers[i - plan_.variants.size()].name : plan_.variants[i].name;
  }

  fs::path out_of(std::size_t i) const { return work_ / name_of(i); }

  std::vector<SideCommand> commands_of(std::int64_t cluster, std::size_t group) const {
    std::vector<SideCommand> commands;
    for (const std::size_t i : groups_[group]) {
      const std::string command = is_peer(i) ? plan_.peers[i - plan_.variants.size()].command
                                             : variant_command(plan_.variants[i].plan, out_of(i));
      const std::string log = fmt::format("{}-{}-{}.txt", name_of(i), cluster, group + 1);
      // The quality is that of the program, not of a start, and nobody judges a peer's.
      const bool evaluated = !is_peer(i) && !record_.variants[i].result;
      commands.push_back({name_of(i), command, {}, work_ / log, evaluated});
    }
    return commands;
  }

  /// False where a loss is not finite: what follows would say nothing.
  bool run_cluster_of(std::int64_t cluster, std::size_t group) {
    const std::vector<std::size_t>& members = groups_[group];
    const std::vector<SideCommand> commands = commands_of(cluster, group);
    std::vector<Turn> round(members.size());
    std::size_t done = 0;
    lockstep_.settle = settle_[group];
    const ClusterRecord found =
        run_cluster(commands, lockstep_, cluster, [&](std::size_t side, const LockstepTurn& turn) {
          write_sample(members[side], cluster, group, turn);
          if (turn.timed.answer.diverged()) return;
          round[side] = turn_from(turn, cluster, group);
          // Nobody promises that a peer's phases fit into its steps.
          if (is_peer(members[side])) round[side].phase_seconds.clear();
          if (++done < members.size()) return;
          done = 0;
          for (std::size_t k = 0; k < members.size(); ++k) {
            record_.variants[members[k]].turns.push_back(std::move(round[k]));
          }
        });
    if (!found.failed.empty()) fail(found.failed, cluster, found.failure);
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (diverged(members[k], cluster, found.sides[k])) return false;
    }
    for (std::size_t k = 0; k < members.size(); ++k) {
      take_over(members[k], found.sides[k], cluster);
    }
    if (!settle_[group]) {
      settle_[group] = found.settle;
      samples_.add({{"event", "settled"}, {"group", group + 1}, {"steps", found.settle}});
    }
    std::error_code ignored;
    for (const SideCommand& command : commands) fs::remove(command.log, ignored);
    // A peak is worth its time only where there is work to compare with it.
    if (has_cost()) peaks_.after_step(found.seconds);
    return true;
  }

  [[noreturn]] void fail(const std::string& name, std::int64_t cluster,
                         const std::string& why) const {
    throw Error(fmt::format("{}, cluster {}", printable(name), cluster), why,
                "its output is in " + printable(work_.string()));
  }

  void write_sample(std::size_t i, std::int64_t cluster, std::size_t group,
                    const LockstepTurn& turn) {
    json line = to_json(turn);
    line["event"] = "turn";
    line["variant"] = name_of(i);
    line["cluster"] = cluster;
    line["group"] = group + 1;
    samples_.add(line);
  }

  static Turn turn_from(const LockstepTurn& turn, std::int64_t cluster, std::size_t group) {
    return {.cluster = cluster,
            .group = static_cast<std::int64_t>(group + 1),
            .round = turn.round,
            .order = turn.place,
            .step_seconds = turn.timed.answer.seconds,
            .phase_seconds = turn.timed.answer.phases};
  }

  bool diverged(std::size_t i, std::int64_t cluster, const SideTurns& side) {
    if (side.turns.empty() || !side.turns.back().timed.answer.diverged()) return false;
    const LockstepTurn& last = side.turns.back();
    for (const auto& [name, losses] : last.timed.answer.losses) {
      if (losses.back()) continue;
      end(StopReason::kNonFinite,
          fmt::format("{}: loss '{}' is not finite in round {} of cluster {}", name_of(i), name,
                      last.round, cluster));
    }
    return true;
  }

  void take_over(std::size_t i, const SideTurns& side, std::int64_t cluster) {
    if (const std::string why = bad_end(side); !why.empty()) fail(name_of(i), cluster, why);
    VariantRecord& variant = record_.variants[i];
    variant.says = side.hello.name;
    if (const std::string trouble = sleep_trouble(side);
        !trouble.empty() && restless_.insert(i).second) {
      record_.notes.push_back(fmt::format("doubtful: {} {}", name_of(i), trouble));
    }
    if (is_peer(i)) return take_clock(clocks_[i], clock_trouble(side));
    if (!variant.result) variant.result = read_result(i, cluster);
    std::error_code ignored;
    fs::remove_all(out_of(i), ignored);
  }

  /// What a variant left in its folder; neither result nor problems where that is nothing.
  ValidationReport left_by(std::size_t i) const {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(out_of(i), missing)) {
      if (entry.path().extension() == ".json") return validate_result_file(entry.path());
    }
    return {};
  }

  Result read_result(std::size_t i, std::int64_t cluster) const {
    ValidationReport report = left_by(i);
    if (!report.problems.empty()) {
      fail(name_of(i), cluster, "its result: " + report.problems.front().reason);
    }
    if (report.as<Result>() == nullptr) fail(name_of(i), cluster, "left no result");
    return report.take<Result>();
  }

  /// Of a first cluster that broke off: who came to its end there has a result all the same.
  void take_results_left() {
    for (std::size_t i = 0; i < plan_.variants.size(); ++i) {
      std::optional<Result>& result = record_.variants[i].result;
      if (result) continue;
      ValidationReport report = left_by(i);
      const bool whole = report.problems.empty() && report.as<Result>() != nullptr;
      if (whole) result = report.take<Result>();
    }
  }

  /// Of a peer. All variants tell the time by the same code; what a peer tells is its own.
  struct Clock {
    std::int64_t clusters = 0;
    std::int64_t wrong = 0;  ///< of them
    std::string trouble{};   ///< in the last of these
  };

  static void take_clock(Clock& clock, std::string trouble) {
    ++clock.clusters;
    if (trouble.empty()) return;
    ++clock.wrong;
    clock.trouble = std::move(trouble);
  }

  /// One that lies does so always; on a busy machine an answer may be late in a cluster or two.
  void judge_clocks() {
    constexpr std::int64_t kFew = 4;
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      const Clock& clock = clocks_[i];
      if (clock.wrong == 0) continue;
      const std::string text =
          fmt::format("{}, in {} of {} clusters", clock.trouble, clock.wrong, clock.clusters);
      if (kFew * clock.wrong > clock.clusters) {
        record_.variants[i].doubt = text;
      } else {
        record_.notes.push_back(fmt::format("doubtful: {} {}", name_of(i), text));
      }
    }
  }

  bool has_cost() const {
    return std::any_of(
        record_.variants.begin(), record_.variants.end(),
        [](const VariantRecord& variant) { return variant.result && variant.result->cost; });
  }

  void tell(std::int64_t cluster, std::size_t group) const {
    const auto total = static_cast<double>(plan_.clusters) * static_cast<double>(groups_.size());
    const double done = static_cast<double>(cluster - 1) * static_cast<double>(groups_.size()) +
                        static_cast<double>(group + 1);
    const double elapsed = seconds_since(start_);
    say_(fmt::format("{}: {} left", now_, format_time_left(elapsed / done * (total - done))));
  }

  const AblationPlan& plan_;
  const std::vector<std::vector<std::size_t>>& groups_;
  const fs::path work_;
  SamplesFile& samples_;
  const std::function<void(const std::string&)>& say_;
  LockstepPlan lockstep_;
  PeakSchedule peaks_;
  AblationRecord record_{};
  /// Of each group, untimed steps before a turn, as its first whole cluster measured them.
  std::vector<std::optional<std::int64_t>> settle_{};
  std::vector<Clock> clocks_{};
  std::set<std::size_t> restless_{};  ///< who did not sleep; said once of each
  std::string now_{};                 ///< the cluster that is being measured
  Steady::time_point start_ = Steady::now();
};

}  // namespace

AblationRecord run_ablation_clusters(const AblationPlan& plan,
                                     const std::vector<std::vector<std::size_t>>& groups,
                                     const fs::path& work, SamplesFile& samples,
                                     const std::function<void(const std::string&)>& say) {
  return Clusters(plan, groups, work, samples, say).run();
}

}  // namespace harness
