#include "harness/measure/rank_of_run.hpp"

#include <utility>
#include <vector>

#include "harness/base/version.hpp"
#include "harness/stats/stats.hpp"
#include "harness/system/affinity.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr const char* kWait = "time.phase.communication";
constexpr const char* kSum = "time.stage.gradient-sum";

/// Median over the timed steps of what a step took beside its wait.
std::optional<double> own_seconds(const std::vector<Metric>& metrics) {
  const Metric* step = find_metric(metrics, "time.step");
  const Metric* wait = find_metric(metrics, kWait);
  if (step == nullptr || wait == nullptr) return median_of(metrics, "time.step");
  std::vector<double> own;
  for (std::size_t i = 0; i < step->samples.size() && i < wait->samples.size(); ++i) {
    const Sample& whole = step->samples[i];
    const Sample& waited = wait->samples[i];
    if (!whole.warmup && whole.value && waited.value) own.push_back(*whole.value - *waited.value);
  }
  if (own.empty()) return std::nullopt;
  return median(own);
}

}  // namespace

RankOfRun::RankOfRun(RunPlan& plan, const MeasureTask& task) : plan_(plan) {
  if (!task.rank) return;
  ranks_ = rank_engine()(*task.rank);
  plan.context.ranks = ranks_.get();
  const char* alike = "all ranks need the same program, rules and options";
  expect_same(*ranks_, "a program", version_line(), alike);
  expect_same(*ranks_, "rules", plan.rules.sha256, alike);
  expect_same(*ranks_, "settings",
              json{plan.effective, plan.context.kernels, plan.context.seeds.run}.dump(), alike);
}

RankOfRun::~RankOfRun() { plan_.context.ranks = nullptr; }

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
  WorldReport world;
  world.ranks = ranks_->world();
  world.engine = ranks_->engine();
  world.global_batch_size = plan_.context.global_batch_size();
  world.lost_rank = record.lost_rank;
  RankReport own;
  own.rank = ranks_->rank();
  own.cpus = format_cpu_list(plan_.cpus);
  own.own_seconds = own_seconds(result.metrics);
  own.wait_seconds = median_of(result.metrics, kWait);
  own.sum_seconds = median_of(result.metrics, kSum);
  own.peak_bytes = result.memory.peak_bytes;
  own.missing = "not measured in this run";
  world.members.push_back(own);
  result.world = world;
}

}  // namespace harness
