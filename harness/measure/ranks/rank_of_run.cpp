#include "harness/measure/ranks/rank_of_run.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/stats/stats.hpp"
#include "harness/system/affinity.hpp"

namespace harness {
namespace {

using nlohmann::json;

// As workloads name them.
constexpr const char* kWait = "communication";
constexpr const char* kSum = "gradient-sum";

std::optional<double> median_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

/// Names the first setting that is not what rank 0 has. Where its data lie, and which CPUs it may
/// use, is each machine's own.
void expect_same_settings(Ranks& ranks, const RunPlan& plan, const std::string& hint) {
  json mine = plan.effective;
  mine.erase("data");
  mine.erase("cpus");
  mine["kernels"] = plan.context.kernels;
  mine["seed"] = plan.context.seeds.run;
  const std::vector<std::string> all = ranks.gather(mine.dump());
  const json first = json::parse(all.front()).flatten();
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const json theirs = json::parse(all[rank]).flatten();
    json names = first;
    names.update(theirs);
    for (const auto& [name, unused] : names.items()) {
      const json value = first.value(name, json());
      const json other = theirs.value(name, json());
      if (other == value) continue;
      throw Error(fmt::format("rank {}", rank),
                  fmt::format("has {} {}, rank 0 has {}", printable(name.substr(1), 60),
                              printable(other.dump(), 60), printable(value.dump(), 60)),
                  hint);
    }
  }
}

}  // namespace

RankOfRun::RankOfRun(RunPlan& plan, const MeasureTask& task) : plan_(plan) {
  if (!task.rank) return;
  ranks_ = rank_engine(plan.engine).connect(*task.rank);
  hang_up_.emplace(*ranks_);
  plan.context.ranks = ranks_.get();
  const char* alike = "all ranks need the same program, rules and options";
  expect_same(*ranks_, "binaries", version_line(), alike);
  expect_same(*ranks_, "rules", plan.rules.sha256, alike);
  expect_same_settings(*ranks_, plan, alike);
  expect_same(*ranks_, "saved state",
              task.saved_run ? task.saved_run->stem + task.saved_run->state_sha256 : "none",
              "a training goes on in a folder that all machines see");
}

RankOfRun::~RankOfRun() { plan_.context.ranks = nullptr; }

void RankOfRun::step(const StepRecord& record) {
  if (!ranks_ || record.warmup) return;
  const auto wait = record.phases.find(kWait);
  own_.push_back(record.own_seconds - (wait == record.phases.end() ? 0 : wait->second));
  if (wait != record.phases.end()) waited_.push_back(wait->second);
  const auto sum = record.stages.find(kSum);
  if (sum != record.stages.end()) summed_.push_back(sum->second);
}

void RankOfRun::attach(SessionHooks& hooks) const {
  if (!ranks_) return;
  hooks.data_opened = [this, before = std::move(hooks.data_opened)](const DataReport& data) {
    before(data);
    expect_same(*ranks_, "data", data.dataset ? data.dataset->sha256.value_or("unknown") : "none",
                "give each the same data set");
  };
}

void RankOfRun::report(Result& result, const RunRecord& record) const {
  if (!ranks_) return;
  // All other ends come to all ranks after the same step.
  if (record.stop == StopReason::kFailed || record.lost_rank) ranks_->hang_up();
  WorldReport world;
  world.ranks = ranks_->world();
  world.engine = ranks_->engine();
  world.global_batch_size = plan_.context.global_batch_size();
  world.lost_rank = record.lost_rank;
  RankReport own;
  own.rank = ranks_->rank();
  own.cpus = format_cpu_list(plan_.cpus);
  own.own_seconds = median_of(own_);
  own.wait_seconds = median_of(waited_);
  own.sum_seconds = median_of(summed_);
  own.peak_bytes = result.memory.peak_bytes;
  own.missing = "not measured in this run";
  world.members.push_back(own);
  result.world = world;
}

}  // namespace harness
