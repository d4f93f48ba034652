// A scenario from outside of harness/scenario/: several steps at a time, each such burst timed as
// one. All that it takes is in this file.

#include "harness/scenario/scenario.hpp"
#include "harness/base/metric_kind.hpp"
#include "harness/scenario/metric_table.hpp"

namespace harness {
namespace {

class Bursts : public Scenario {
 public:
  using Scenario::Scenario;

  void check(Workload& workload) const override { demand_of<Trains>(workload); }

  RunRecord run(Workload& workload, WorkloadContext& context, const ScenarioOptions& options,
                const SessionHooks& hooks, const std::vector<Observer*>& observers) const override {
    RunRecord record;
    Session session(workload, context, hooks, observers, record);
    MetricTable table;
    const Tier& tier = options.tier;
    session.run([&] {
      const double start = session.now();
      double seconds = 0;
      std::int64_t timed = 0;
      for (std::int64_t burst = 1; timed < tier.min_steps || seconds < tier.min_seconds; ++burst) {
        if (timed >= info().most_units) {
          session.end(StopReason::kTimeLimit, "the most bursts of a result");
          return;
        }
        session.stop_if_asked();
        const bool warmup = burst <= tier.warmup_steps;
        const double before = session.now();
        for (int i = 0; i < tier.more.at("steps_per_burst"); ++i) {
          StepRecord step = session.timer().time_step(session.steps(), start);
          step.step = ++record.steps;
          step.warmup = warmup;
          session.tell(&Observer::step, step);
          if (session.diverged(step)) return;
        }
        const double took = session.now() - before;
        table.put(standard_metric("time.burst", "a burst of steps"), burst, warmup, took);
        table.put({"rate.bursts", "bursts/s", Direction::kHigher, "bursts a second", {}, {}, {}},
                  burst, warmup, 1 / took);
        timed += warmup ? 0 : 1;
        seconds += warmup ? 0 : took;
      }
      session.evaluate([&](const Quality& quality) { record.quality = quality; });
    });
    record.metrics = table.take();
    return record;
  }
};

const RegisterScenario registered(std::make_unique<Bursts>(ScenarioInfo{
    .name = "bursts",
    .summary = "several steps at a time",
    .unit = "burst",
    .metric = "time.burst",
    .gives = {"time.burst", "rate.bursts"},
    .reads = {"warmup_steps", "min_steps", "min_seconds"},
    .keys = {{"steps_per_burst", "steps of a burst", 2, 1, 1000, true}},
    .seeds = {"arrivals"},
    .most_units = 40}));

}  // namespace
}  // namespace harness
