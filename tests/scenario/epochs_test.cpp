// The loop of a run that trains to a target: what is on the clock, what ends it, what it leaves.
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/scenario/epochs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Epochs of four steps of a second on a clock of its own; evaluations take 3 s.
class Trained : public Workload, public Trains {
 public:
  explicit Trained(double& now) : now_(now) {}

  Description describe(const WorkloadContext&) const override { return {}; }
  DataReport open_data(const WorkloadContext&) override {
    now_ += 50;
    DataReport report;
    report.train_samples = 8;
    report.eval_samples = 5;
    return report;
  }
  void prepare(const WorkloadContext& context) override {
    context_ = &context;
    now_ += 20;
  }
  void begin_steps() override { now_ += 0.5; }
  std::int64_t steps_per_epoch() const override { return 4; }
  StepStats step() override {
    {
      const Phase phase = context_->phase("forward");
      now_ += 1;
    }
    ++steps;
    return {2, {{"total", steps == nan_at ? kNaN : 1.0 * steps}}};
  }
  Quality evaluate() override {
    now_ += 3;
    if (fails_to_evaluate) throw Error("evaluation", "broke");
    if (evaluations == stopped_evaluation) throw Interrupted();
    Quality quality{"mAP", Direction::kHigher, std::nullopt, "", {}};
    const double value = qualities.at(evaluations++);
    if (value == value) {
      quality.value = value;
    } else {
      quality.reason = "not a number";
    }
    return quality;
  }

  void save_state(const std::filesystem::path&) const override {}
  void load_state(const std::filesystem::path&) override {}

  int steps = 0;
  int nan_at = 0;
  bool fails_to_evaluate = false;
  std::size_t evaluations = 0;
  std::size_t stopped_evaluation = 99;
  std::vector<double> qualities = {0.1, 0.2, 0.5};

 private:
  double& now_;
  const WorkloadContext* context_ = nullptr;
};

class EventList : public Observer {
 public:
  explicit EventList(const double& now) : now_(now) {}
  void run_begin() override { add("begin"); }
  void data_opened(std::int64_t train, std::int64_t eval) override {
    add("data " + std::to_string(train) + " " + std::to_string(eval));
  }
  void resumed(const Resumption& where) override { add("resumed " + std::to_string(where.steps)); }
  void epoch_begin(std::int64_t epoch) override { add("epoch " + std::to_string(epoch)); }
  void epoch_end(std::int64_t epoch) override { add("end " + std::to_string(epoch)); }
  void evaluation_begin(std::int64_t epoch) override { add("eval " + std::to_string(epoch)); }
  void evaluated(const Quality& /*quality*/, const EvaluationPoint& at) override {
    add("evaluated " + std::to_string(at.epoch) + " after " + std::to_string(at.samples));
  }
  void run_end(bool reached) override {
    add(reached ? "reached" : "missed");
    end = now_;
  }

  std::vector<std::string> events;
  double end = 0;

 private:
  void add(const std::string& event) { events.push_back(event); }
  const double& now_;
};

struct Fixture {
  RunRecord run(Trained& workload, std::optional<EpochState> from = {}) {
    SessionHooks hooks;
    hooks.clock = [this] { return now; };
    hooks.stop_requested = [&] { return stop_after > 0 && workload.steps >= stop_after; };
    hooks.save = [this](const EpochState& state) { saved.push_back(state); };
    ScenarioOptions options{.quality_target = 0.5, .resume_from = from};
    options.tier.max_epochs = max_epochs;
    options.tier.max_seconds = max_seconds;
    options.tier.checkpoint_seconds = checkpoint_seconds;
    return epochs_scenario()->run(workload, context, options, hooks, {&list});
  }

  double now = 100;
  std::int64_t max_epochs = 5;
  double max_seconds = 0;
  double checkpoint_seconds = 1e9;
  int stop_after = 0;
  std::vector<EpochState> saved;
  EventList list{now};
  WorkloadContext context;
};

std::vector<double> values(const RunRecord& record, const std::string& tag) {
  std::vector<double> list;
  for (const Metric& metric : record.metrics) {
    if (metric.tag != tag) continue;
    for (const Sample& sample : metric.samples) list.push_back(sample.value.value_or(-1));
  }
  return list;
}

}  // namespace

TEST_CASE("training ends with the evaluation that reaches the target", "[training]") {
  Fixture fixture;
  Trained workload(fixture.now);
  const RunRecord record = fixture.run(workload);
  CHECK(record.stop == StopReason::kCompleted);
  REQUIRE(record.training);
  CHECK(record.training->target_reached);
  CHECK(record.training->epochs == 3);
  CHECK(record.training->steps == 12);
  CHECK(record.training->samples == 24);
  // Half a second before the first step, then three epochs of four steps and an evaluation.
  CHECK(record.training->seconds == 0.5 + 3 * (4 + 3));
  CHECK(values(record, "time.to-quality") == std::vector<double>{21.5});
  CHECK(values(record, "epochs.to-quality") == std::vector<double>{3});
  CHECK(values(record, "time.epoch") == std::vector<double>{4, 4, 4});
  CHECK(values(record, "time.evaluation") == std::vector<double>{3, 3, 3});
  CHECK(values(record, "time.step") == std::vector<double>{1, 1, 1});
  CHECK(values(record, "time.phase.forward") == std::vector<double>{1, 1, 1});
  CHECK(values(record, "throughput.samples") == std::vector<double>{2, 2, 2});
  CHECK(values(record, "quality.mAP") == std::vector<double>{0.1, 0.2, 0.5});
  CHECK(values(record, "loss.total") == std::vector<double>{2.5, 6.5, 10.5});
  CHECK(record.quality->value == 0.5);
  CHECK(fixture.list.events == std::vector<std::string>{"begin", "data 8 5", "epoch 1", "end 1",
                                                        "eval 1", "evaluated 1 after 8", "epoch 2",
                                                        "end 2", "eval 2", "evaluated 2 after 16",
                                                        "epoch 3", "end 3", "eval 3",
                                                        "evaluated 3 after 24", "reached"});
}

TEST_CASE("a target that is never met ends with the last epoch", "[training]") {
  Fixture fixture;
  fixture.max_epochs = 2;
  Trained workload(fixture.now);
  const RunRecord record = fixture.run(workload);
  CHECK(record.stop == StopReason::kTargetMissed);
  CHECK_FALSE(record.training->target_reached);
  CHECK(record.training->epochs == 2);
  CHECK(values(record, "time.to-quality").empty());
  CHECK(fixture.list.events.back() == "missed");
}

TEST_CASE("a quality that is not a number reaches no target", "[training]") {
  Fixture fixture;
  fixture.max_epochs = 1;
  Trained workload(fixture.now);
  workload.qualities = {kNaN};
  const RunRecord record = fixture.run(workload);
  CHECK(record.stop == StopReason::kTargetMissed);
  CHECK(record.quality->reason == "not a number");
}

TEST_CASE("a loss that is not a number ends training at that step", "[training]") {
  Fixture fixture;
  Trained workload(fixture.now);
  workload.nan_at = 6;
  const RunRecord record = fixture.run(workload);
  CHECK(record.stop == StopReason::kNonFinite);
  CHECK(record.stop_detail == "loss 'total' is not a number at step 6");
  CHECK(workload.steps == 6);
  CHECK(record.training->epochs == 1);
  CHECK(fixture.list.events.back() == "missed");
}

TEST_CASE("training gives up when its seconds run out", "[training]") {
  Fixture fixture;
  fixture.max_seconds = 9;
  Trained workload(fixture.now);
  const RunRecord record = fixture.run(workload);
  CHECK(record.stop == StopReason::kTimeLimit);
  CHECK(workload.steps == 6);  // 0.5 + 4 + 3 + 2 s
}

TEST_CASE("an evaluation that fails loses no epoch before it", "[training]") {
  Fixture fixture;
  Trained workload(fixture.now);
  workload.fails_to_evaluate = true;
  const RunRecord record = fixture.run(workload);
  CHECK(record.stop == StopReason::kFailed);
  CHECK(record.stop_detail == "evaluation: broke");
  CHECK(record.training->steps == 4);
}

TEST_CASE("a stop within an evaluation saves the whole epoch, as of its end", "[training]") {
  Fixture fixture;
  Trained workload(fixture.now);
  workload.stopped_evaluation = 1;  // of the second epoch
  const RunRecord record = fixture.run(workload);
  CHECK(record.stop == StopReason::kInterrupted);
  CHECK(record.training->steps == 8);
  const EpochState& saved = fixture.saved.back();
  CHECK(saved.epoch == 2);
  CHECK(saved.totals.steps == 4);
  CHECK(saved.totals.seconds == 4);
  CHECK(saved.seconds == 0.5 + 4 + 3 + 4);  // what was evaluated in vain is not on the clock
  CHECK(saved.quality->value == 0.1);
}

TEST_CASE("a resumed run that fails before its first step tells of it", "[training]") {
  Fixture first;
  first.stop_after = 6;
  Trained stopped(first.now);
  first.run(stopped);
  class Failing : public Trained {
   public:
    using Trained::Trained;
    void begin_steps() override { throw Error("data", "gone"); }
  };
  EpochState state = epoch_state_from_json(to_json(first.saved.back()));
  state.resumed.push_back({state.epoch, state.steps, "2026-01-31T12:00:00.000Z"});
  Fixture second;
  Failing failing(second.now);
  const RunRecord record = second.run(failing, state);
  CHECK(record.stop == StopReason::kFailed);
  CHECK(record.stop_detail == "data: gone");
  CHECK(record.steps == 6);
  CHECK(record.training->resumed.size() == 1);
  CHECK(record.quality->value == 0.1);
}

TEST_CASE("states are saved after epochs, by the clock, and when asked to stop", "[training]") {
  Fixture fixture;
  SECTION("after each epoch but the last") {
    Trained workload(fixture.now);
    fixture.run(workload);
    REQUIRE(fixture.saved.size() == 2);
    CHECK(fixture.saved[1].epoch == 3);
    CHECK(fixture.saved[1].totals.steps == 0);
    CHECK(fixture.saved[1].steps == 8);
  }
  SECTION("within an epoch") {
    fixture.checkpoint_seconds = 2;
    Trained workload(fixture.now);
    fixture.run(workload);
    REQUIRE(fixture.saved.size() > 2);
    CHECK(fixture.saved[0].epoch == 1);
    CHECK(fixture.saved[0].totals.steps == 2);
    CHECK(fixture.saved[0].seconds == 2.5);
  }
  SECTION("when asked to stop") {
    fixture.stop_after = 6;
    Trained workload(fixture.now);
    const RunRecord record = fixture.run(workload);
    CHECK(record.stop == StopReason::kInterrupted);
    CHECK(fixture.saved.back().steps == 6);
    CHECK(record.training->steps == 6);
  }
}

TEST_CASE("a resumed run counts as one that was never stopped", "[training]") {
  Fixture whole;
  Trained uninterrupted(whole.now);
  const RunRecord expected = whole.run(uninterrupted);
  const int stop_after = GENERATE(1, 3, 4, 5, 8, 11);
  CAPTURE(stop_after);
  Fixture first;
  first.stop_after = stop_after;
  Trained stopped(first.now);
  first.run(stopped);
  // Through JSON, as in the file.
  EpochState state = epoch_state_from_json(to_json(first.saved.back()));
  state.resumed.push_back({state.epoch, state.steps, "2026-01-31T12:00:00.000Z"});

  Fixture second;
  Trained resumed(second.now);
  resumed.steps = stopped.steps;
  resumed.evaluations = stopped.evaluations;
  const RunRecord record = second.run(resumed, state);
  CHECK(record.stop == StopReason::kCompleted);
  CHECK(record.training->epochs == 3);
  CHECK(record.training->steps == 12);
  CHECK(record.training->samples == 24);
  CHECK(record.training->resumed.size() == 1);
  // Going on costs the half second before the first step again.
  CHECK(record.training->seconds == expected.training->seconds + 0.5);
  for (const char* tag : {"time.step", "loss.total", "quality.mAP", "time.evaluation"}) {
    CHECK(values(record, tag) == values(expected, tag));
  }
  std::vector<std::string> events = first.list.events;
  events.insert(events.end(), second.list.events.begin() + 1, second.list.events.end());
  CHECK(second.list.events.front() == "resumed " + std::to_string(stop_after));
  CHECK(events == whole.list.events);
}

TEST_CASE("a resumed run that ends before its next evaluation has the quality of the last one",
          "[training]") {
  Fixture first;
  first.stop_after = 6;  // in the second epoch
  Trained stopped(first.now);
  const RunRecord before = first.run(stopped);
  REQUIRE(before.quality);
  Fixture second;
  second.stop_after = 7;
  Trained resumed(second.now);
  resumed.steps = stopped.steps;
  resumed.evaluations = stopped.evaluations;
  EpochState state = epoch_state_from_json(to_json(first.saved.back()));
  state.resumed.push_back({state.epoch, state.steps, "2026-01-31T12:00:00.000Z"});
  const RunRecord record = second.run(resumed, state);
  CHECK(record.stop == StopReason::kInterrupted);
  REQUIRE(record.quality);
  CHECK(record.quality->metric == before.quality->metric);
  CHECK(record.quality->direction == before.quality->direction);
  CHECK(record.quality->value == before.quality->value);
}

TEST_CASE("a workload without epochs cannot train to a target", "[training]") {
  class NoEpochs : public Trained {
   public:
    using Trained::Trained;
    std::int64_t steps_per_epoch() const override { return 0; }
  };
  Fixture fixture;
  NoEpochs workload(fixture.now);
  CHECK_THROWS_WITH(fixture.run(workload), Catch::Contains("no epochs"));
}
