#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/scenario/steps.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

// A workload on a clock of its own: each step takes as long as its script says, exactly.
class Scripted : public Workload, public Steps {
 public:
  explicit Scripted(double& now) : now_(now) {}

  Description describe(const WorkloadContext&) const override { return {}; }
  DataReport open_data(const WorkloadContext&) override {
    now_ += 7;
    return {std::nullopt, data_root};
  }
  void prepare(const WorkloadContext& context) override {
    context_ = &context;
    now_ += 3;
  }
  StepStats step() override {
    ++steps;
    peak = 100;
    {
      const Phase phase = context_->phase("forward");
      now_ += 0.25;
    }
    {
      const Phase phase = context_->phase("backward");
      now_ += 0.5;
    }
    now_ += 0.25;
    if (tells_stages) {
      const double start = context_->stopwatch->now();
      now_ += 0.125;
      context_->stopwatch->add("pack", context_->stopwatch->now() - start);
      context_->stopwatch->add("pack", 0.5);
    }
    if (steps == throw_at) throw Error("scripted", "broke");
    const double loss = steps == nan_at ? std::numeric_limits<double>::quiet_NaN() : 1.0 / steps;
    return {4, {{"total", loss}}};
  }
  Quality evaluate() override {
    peak = 900;
    return {"score", Direction::kHigher, 0.75, "", {}};
  }
  std::optional<MemoryUse> memory() const override { return MemoryUse{peak}; }

  int steps = 0;
  bool tells_stages = false;
  double peak = 0;
  int throw_at = 0;
  int nan_at = 0;
  std::filesystem::path data_root{};

 private:
  double& now_;
  const WorkloadContext* context_ = nullptr;
};

struct Length {
  std::int64_t warmup_steps;
  std::int64_t min_steps;
  double min_seconds;
  double max_seconds;
  bool evaluate = true;
};

struct Fixture {
  double now = 100;
  int clock_reads = 0;
  Scripted workload{now};
  WorkloadContext context{};
  SessionHooks hooks{};
  Fixture() {
    hooks.clock = [this] {
      ++clock_reads;
      return now;
    };
  }
  RunRecord run(const Length& length, const std::vector<Observer*>& observers = {}) {
    ScenarioOptions options{.evaluate = length.evaluate};
    options.tier.warmup_steps = length.warmup_steps;
    options.tier.min_steps = length.min_steps;
    options.tier.min_seconds = length.min_seconds;
    options.tier.max_seconds = length.max_seconds;
    return steps_scenario()->run(workload, context, options, hooks, observers);
  }
};

const Metric& metric(const RunRecord& record, const std::string& tag) {
  for (const Metric& item : record.metrics) {
    if (item.tag == tag) return item;
  }
  throw std::runtime_error("no metric " + tag);
}

}  // namespace

TEST_CASE("steps, phases and losses become metrics with warm-up flagged", "[steps]") {
  Fixture fixture;
  const RunRecord record = fixture.run({2, 3, 0, 0});
  CHECK(record.stop == StopReason::kCompleted);
  CHECK(record.steps == 5);
  const Metric& steps = metric(record, "time.step");
  REQUIRE(steps.samples.size() == 5);
  CHECK(steps.samples[1].warmup);
  CHECK_FALSE(steps.samples[2].warmup);
  CHECK(steps.samples[4].step == 5);
  for (const Sample& sample : steps.samples) CHECK(*sample.value == 1.0);
  CHECK(*metric(record, "time.phase.forward").samples[0].value == 0.25);
  CHECK(*metric(record, "time.phase.backward").samples[0].value == 0.5);
  CHECK(*metric(record, "time.phase.other").samples[0].value == 0.25);
  CHECK(*metric(record, "throughput.samples").samples[0].value == 4.0);
  CHECK(*metric(record, "loss.total").samples[3].value == 0.25);
  CHECK(record.quality->value == 0.75);
  CHECK(record.peak_memory_bytes == 100);  // of the steps, not of the evaluation
  CHECK(record.preparation["data_seconds"] == 7.0);
  CHECK(record.preparation["init_seconds"] == 3.0);
}

TEST_CASE("parts that kernels tell apart become metrics, by the clock of the run", "[steps]") {
  Fixture fixture;
  fixture.workload.tells_stages = true;
  const RunRecord record = fixture.run({1, 2, 0, 0});
  const Metric& pack = metric(record, "time.stage.pack");
  REQUIRE(pack.samples.size() == 3);
  for (const Sample& sample : pack.samples) CHECK(*sample.value == 0.625);
  CHECK(*metric(record, "time.step").samples[0].value == 1.125);
  CHECK(fixture.context.stopwatch == nullptr);  // it ended with the run
}

TEST_CASE("inside a step the harness reads the clock twice, and twice for each phase", "[steps]") {
  Fixture fixture;
  fixture.run({0, 1, 0, 0, false});
  const int first = fixture.clock_reads;
  fixture.clock_reads = 0;
  Fixture longer;
  longer.run({0, 11, 0, 0, false});
  // Ten more steps: 2 for the step and 2 for each of the 2 phases.
  CHECK(longer.clock_reads - first == 10 * (2 + 2 * 2));
}

TEST_CASE("data that makes a run too large ends it before anything is built", "[steps]") {
  Fixture fixture;
  fixture.hooks.data_opened = [](const DataReport&) { throw Error("memory", "not enough"); };
  CHECK_THROWS_WITH(fixture.run({0, 1, 0, 0}), "memory: not enough");
  CHECK(fixture.now == 107);  // data were opened, the model was not built
}

TEST_CASE("a run lasts until both its minimum steps and its minimum seconds", "[steps]") {
  Fixture fixture;
  CHECK(fixture.run({1, 2, 10.0, 0}).steps == 11);
}

TEST_CASE("the time limit ends a run and says so", "[steps]") {
  Fixture fixture;
  const RunRecord record = fixture.run({0, 100, 0, 5.0});
  CHECK(record.stop == StopReason::kTimeLimit);
  CHECK(record.steps == 5);
  CHECK_FALSE(record.quality);
}

TEST_CASE("steps too short for the minimum seconds end at the most a result holds", "[steps]") {
  Fixture fixture;
  const RunRecord record = fixture.run({0, 1, 1e9, 0, false});
  CHECK(record.stop == StopReason::kTimeLimit);
  CHECK(record.steps == steps_scenario()->info().most_units);
}

TEST_CASE("a loss that is no number stops the run and names the step", "[steps]") {
  Fixture fixture;
  fixture.workload.nan_at = 3;
  const RunRecord record = fixture.run({0, 10, 0, 0});
  CHECK(record.stop == StopReason::kNonFinite);
  CHECK(record.stop_detail == "loss 'total' is not a number at step 3");
  const Metric& loss = metric(record, "loss.total");
  REQUIRE(loss.samples.size() == 3);
  CHECK_FALSE(loss.samples[2].value);
  CHECK(loss.samples[2].reason == "not a number");
}

TEST_CASE("a workload that throws keeps what was measured", "[steps]") {
  Fixture fixture;
  fixture.workload.throw_at = 4;
  const RunRecord record = fixture.run({0, 10, 0, 0});
  CHECK(record.stop == StopReason::kFailed);
  CHECK(record.stop_detail == "scripted: broke");
  CHECK(metric(record, "time.step").samples.size() == 3);
}

TEST_CASE("an interrupt ends the run after the step in progress", "[steps]") {
  Fixture fixture;
  fixture.hooks.stop_requested = [&] { return fixture.workload.steps >= 2; };
  const RunRecord record = fixture.run({0, 10, 0, 0});
  CHECK(record.stop == StopReason::kInterrupted);
  CHECK(record.steps == 2);
}

TEST_CASE("observers hear of everything in order, and one that fails costs no data", "[steps]") {
  struct Recorder : Observer {
    std::string heard;
    int fail_at = 0;
    void stage(const std::string& name) override { heard += name + " "; }
    void step(const StepRecord& record) override {
      heard += std::to_string(record.step) + " ";
      if (record.step == fail_at) throw Error("disk", "full");
    }
    void evaluated(const Quality&, const EvaluationPoint&) override { heard += "evaluated "; }
    void finished() override { heard += "finished"; }
  };
  {
    Fixture fixture;
    Recorder recorder;
    fixture.run({1, 1, 0, 0}, {&recorder});
    CHECK(recorder.heard == "data prepare steps 1 2 evaluate evaluated finished");
  }
  {
    Fixture fixture;
    Recorder recorder;
    recorder.fail_at = 2;
    const RunRecord record = fixture.run({0, 5, 0, 0}, {&recorder});
    CHECK(record.stop == StopReason::kFailed);
    CHECK(record.stop_detail == "disk: full");
    CHECK(metric(record, "time.step").samples.size() == 2);
  }
}

TEST_CASE("the page cache is cleared between the data check and the preparation", "[steps]") {
  Fixture fixture;
  fixture.workload.data_root = "/somewhere";
  double when = 0;
  fixture.hooks.clear_cache = [&](const std::filesystem::path& root) {
    when = fixture.now;
    return nlohmann::json{{"root", root.string()}};
  };
  const RunRecord record = fixture.run({0, 1, 0, 0});
  CHECK(when == 107);
  CHECK(record.preparation["cache_clear"]["root"] == "/somewhere");
}

TEST_CASE("nothing to lose: errors before the first step propagate", "[steps]") {
  Fixture fixture;
  fixture.hooks.stop_requested = [] { return true; };
  CHECK_THROWS_AS(fixture.run({0, 1, 0, 0}), Interrupted);
}
