#include "harness/workload/capabilities.hpp"

#include <catch2/catch.hpp>

#include "harness/base/error.hpp"
#include "harness/scenario/scenario.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// The core alone.
class Bare : public Workload {
 public:
  Description describe(const WorkloadContext&) const override { return {3}; }
  void prepare(const WorkloadContext&) override { prepared = true; }

  bool prepared = false;
};

class Stepping : public Bare, public Steps {
 public:
  StepStats step() override { return {}; }
  Quality evaluate() override { return {}; }
};

template <class Capability>
void lacks(const std::string& message) {
  Bare bare;
  CHECK(as<Capability>(bare) == nullptr);
  CHECK_THROWS_WITH(demand<Capability>(bare, "workload 'bare'"), message);
}

}  // namespace

TEST_CASE("what a workload cannot do is said in words of its own", "[workload]") {
  lacks<Steps>("workload 'bare': the workload does no steps");
  lacks<Trains>("workload 'bare': the workload has no epochs to train in (choose another tier)");
  lacks<Recordable>("workload 'bare': cannot be looked into (it runs no operators)");
  lacks<Replayable>("workload 'bare': cannot be replayed (it runs no primitives)");
  lacks<Verifiable>("workload 'bare': this workload has no golden data to verify");
}

TEST_CASE("a capability is found behind the core, and no other", "[workload]") {
  Stepping stepping;
  Workload& workload = stepping;
  CHECK(as<Steps>(workload) == static_cast<Steps*>(&stepping));
  CHECK(&demand<Steps>(workload, "run") == static_cast<Steps*>(&stepping));
  CHECK(as<Trains>(workload) == nullptr);
}

TEST_CASE("a run ends before anything is built for want of a capability", "[workload]") {
  const std::vector<Observer*> nobody;
  WorkloadContext context;
  Bare bare;
  const Scenario& steps = find_scenario("steps");
  CHECK_THROWS_WITH(steps.check(bare), "scenario 'steps': the workload does no steps");
  CHECK_THROWS_WITH(steps.run(bare, context, {}, {}, nobody), "run: the workload does no steps");
  CHECK_FALSE(bare.prepared);
  Stepping stepping;
  steps.check(stepping);
  const Scenario& epochs = find_scenario("epochs");
  CHECK_THROWS_WITH(
      epochs.check(stepping),
      "scenario 'epochs': the workload has no epochs to train in (choose another tier)");
  CHECK_THROWS_WITH(epochs.run(stepping, context, {}, {}, nobody),
                    "run: the workload has no epochs to train in (choose another tier)");
  CHECK_FALSE(stepping.prepared);
}

TEST_CASE("the core alone leaves out what it does not have", "[workload]") {
  Bare bare;
  CHECK_FALSE(bare.facts().cost);
  CHECK(bare.facts().hyperparameters.empty());
  CHECK_FALSE(bare.memory());
  CHECK(bare.open_data({}).train_samples == 0);
  const WorkloadContext context;
  CHECK(context.rank() == 0);
  CHECK(context.world() == 1);
}
