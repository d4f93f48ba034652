#include "harness/measure/ablation_clusters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/cluster.hpp"
#include "harness/lockstep/cluster_json.hpp"
#include "harness/measure/ablation_sides.hpp"
#include "harness/measure/peak_schedule.hpp"
#include "harness/result/validate.hpp"
#include "harness/scenario/step_timer.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Steady = std::chrono::steady_clock;

class Clusters {
 public:
  Clusters(const AblationPlan& plan, const std::vector<std::vector<std::size_t>>& groups,
           fs::path work, SamplesFile& samples, const std::function<void(const std::string&)>& say)
      : plan_(plan),
        groups_(groups),
        work_(std::move(work)),
        samples_(samples),
        say_(say),
        lockstep_{.rounds = plan.warmup_rounds + plan.rounds,
                  .steps_per_turn = plan.steps_per_turn},
        peaks_(plan.variants.front().plan.context.threads) {
    record_.variants.resize(plan.variants.size() + plan.peers.size());
  }

  AblationRecord run() {
    try {
      for (std::int64_t cluster = 1; cluster <= plan_.clusters; ++cluster) {
        for (std::size_t group = 0; group < groups_.size(); ++group) {
          if (!run_cluster_of(cluster, group)) return std::move(record_);
          tell(cluster, group);
        }
      }
      record_.peaks = peaks_.finish();
      samples_.finished();
    } catch (const Interrupted&) {
      if (!measured()) throw;
      end(StopReason::kInterrupted, "interrupted");
    } catch (const Error& error) {
      if (!measured()) throw;
      end(StopReason::kFailed, error.what());
    }
    return std::move(record_);
  }

 private:
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
      commands.push_back({name_of(i), command, {}, work_ / log});
    }
    return commands;
  }

  /// False where a loss is not finite: what follows would say nothing.
  bool run_cluster_of(std::int64_t cluster, std::size_t group) {
    const std::vector<std::size_t>& members = groups_[group];
    const std::vector<SideCommand> commands = commands_of(cluster, group);
    // The quality is that of the program, not of a start.
    lockstep_.evaluate = cluster == 1;
    std::vector<Turn> round(members.size());
    std::size_t done = 0;
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
      if (diverged(members[k], found.sides[k])) return false;
    }
    for (std::size_t k = 0; k < members.size(); ++k) {
      take_over(members[k], found.sides[k], cluster);
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
    line["warmup"] = turn.round <= plan_.warmup_rounds;
    samples_.add(line);
  }

  Turn turn_from(const LockstepTurn& turn, std::int64_t cluster, std::size_t group) const {
    return {cluster,
            static_cast<std::int64_t>(group + 1),
            turn.round,
            turn.round <= plan_.warmup_rounds,
            turn.place,
            turn.timed.answer.seconds,
            turn.timed.answer.phases};
  }

  bool diverged(std::size_t i, const SideTurns& side) {
    if (side.turns.empty() || !side.turns.back().timed.answer.diverged()) return false;
    StepRecord last;
    for (const auto& [name, losses] : side.turns.back().timed.answer.losses) {
      last.losses[name] = losses.back().value_or(std::numeric_limits<double>::quiet_NaN());
    }
    end(StopReason::kNonFinite, name_of(i) + ": " + non_finite_loss(last));
    return true;
  }

  void take_over(std::size_t i, const SideTurns& side, std::int64_t cluster) {
    if (const std::string why = bad_end(side); !why.empty()) fail(name_of(i), cluster, why);
    VariantRecord& variant = record_.variants[i];
    variant.says = side.hello.name;
    // All variants tell the time by the same code; what a peer tells is its own.
    if (is_peer(i)) note(i, "clock", clock_trouble(side));
    note(i, "sleep", sleep_trouble(side));
    if (is_peer(i)) return;
    if (!variant.result) variant.result = read_result(i, cluster);
    std::error_code ignored;
    fs::remove_all(out_of(i), ignored);
  }

  Result read_result(std::size_t i, std::int64_t cluster) const {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(out_of(i), missing)) {
      if (entry.path().extension() != ".json") continue;
      ValidationReport report = validate_result_file(entry.path());
      if (!report.problems.empty()) {
        fail(name_of(i), cluster, "its result: " + report.problems.front().reason);
      }
      if (report.result) return std::move(*report.result);
    }
    fail(name_of(i), cluster, "left no result");
  }

  void note(std::size_t i, const char* kind, const std::string& trouble) {
    if (trouble.empty() || !noted_.insert({i, kind}).second) return;
    record_.notes.push_back(fmt::format("doubtful: {} {}", name_of(i), trouble));
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
    const double elapsed = std::chrono::duration<double>(Steady::now() - start_).count();
    const std::string place =
        groups_.size() == 1 ? "" : fmt::format(", group {} of {}", group + 1, groups_.size());
    say_(fmt::format("cluster {} of {}{}: {} left", cluster, plan_.clusters, place,
                     format_time_left(elapsed / done * (total - done))));
  }

  const AblationPlan& plan_;
  const std::vector<std::vector<std::size_t>>& groups_;
  const fs::path work_;
  SamplesFile& samples_;
  const std::function<void(const std::string&)>& say_;
  LockstepPlan lockstep_;
  PeakSchedule peaks_;
  AblationRecord record_{};
  std::set<std::pair<std::size_t, std::string>> noted_{};  ///< side and kind, once each
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
