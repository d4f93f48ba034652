// A scenario that counts epochs and trains to no target: so many passes over a few steps each.
#include "harness/base/metric_kind.hpp"
#include "harness/scenario/metric_table.hpp"
#include "harness/scenario/scenario.hpp"

namespace harness {
namespace {

constexpr std::int64_t kStepsOfPass = 2;

class Passes : public Scenario {
 public:
  using Scenario::Scenario;

  void check(Workload& workload) const override { demand_of<Steps>(workload); }

  RunRecord run(Workload& workload, WorkloadContext& context, const ScenarioOptions& options,
                const SessionHooks& hooks, const std::vector<Observer*>& observers) const override {
    RunRecord record;
    Session session(workload, context, hooks, observers, record);
    MetricTable table;
    session.run([&] {
      const double start = session.now();
      for (std::int64_t pass = 1; pass <= options.tier.max_epochs; ++pass) {
        const double before = session.now();
        for (std::int64_t i = 0; i < kStepsOfPass; ++i) {
          StepRecord step = session.timer().time_step(session.steps(), start);
          step.step = ++record.steps;
          session.tell(&Observer::step, step);
        }
        table.put(standard_metric("time.pass", "a pass"), pass, false, session.now() - before);
      }
      session.evaluate([&](const Quality& quality) { record.quality = quality; });
    });
    record.metrics = table.take();
    return record;
  }
};

const RegisterScenario registered(std::make_unique<Passes>(ScenarioInfo{
    .name = "passes",
    .summary = "so many passes, whatever comes of them",
    .unit = "pass",
    .metric = "time.pass",
    .gives = {"time.pass"},
    .reads = {"max_epochs"},
    .needs = {"max_epochs"}}));

}  // namespace
}  // namespace harness
