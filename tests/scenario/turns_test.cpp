#include "harness/scenario/turns.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "harness/base/error.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

// What several instances share: the clock, the counters of one allocator, and what they did.
struct Machine {
  double now = 0;
  double in_use = 0;
  double peak = 0;
  std::string log{};

  void take(double bytes) {
    in_use += bytes;
    peak = std::max(peak, in_use);
  }
};

class Scripted : public Workload, public Steps {
 public:
  Scripted(Machine& machine, std::string name, double seconds)
      : machine_(machine), name_(std::move(name)), seconds_(seconds) {}

  Description describe(const WorkloadContext&) const override { return {}; }
  DataReport open_data(const WorkloadContext&) override {
    machine_.log += "open-" + name_ + " ";
    return {Artifact{name_, "", std::nullopt, {}}, root};
  }
  bool share_data(const Workload& /*other*/) override {
    if (shares) machine_.log += "share-" + name_ + " ";
    return shares;
  }
  void prepare(const WorkloadContext& context) override {
    context_ = &context;
    machine_.take(weights);
  }
  void activate() override {
    machine_.log += name_ + " ";
    machine_.peak = machine_.in_use;
  }
  StepStats step() override {
    ++steps;
    if (steps == 1) machine_.take(cache);
    machine_.take(activations);
    {
      const Phase phase = context_->phase("forward");
      machine_.now += seconds_ / 4;
    }
    machine_.now += seconds_ * 3 / 4;
    machine_.take(-activations);
    if (steps == throw_at) throw Error("scripted", "broke");
    const double loss = steps == nan_at ? std::numeric_limits<double>::quiet_NaN() : 1.0;
    return {1, {{"total", loss}}};
  }
  Quality evaluate() override {
    machine_.log += "judge-" + name_ + " ";
    return {"score", Direction::kHigher, seconds_, "", {}};
  }
  std::optional<MemoryUse> memory() const override {
    if (!counts) return std::nullopt;
    return MemoryUse{machine_.peak, machine_.in_use};
  }

  int steps = 0;
  int throw_at = 0;
  int nan_at = 0;
  double weights = 0;
  double activations = 0;
  double cache = 0;  ///< kept from the first step on
  bool counts = true;
  bool shares = true;
  std::filesystem::path root{};

 private:
  Machine& machine_;
  std::string name_;
  double seconds_;
  const WorkloadContext* context_ = nullptr;
};

struct Fixture {
  Machine machine{};
  Scripted slow{machine, "slow", 8};
  Scripted fast{machine, "fast", 2};
  Scripted third{machine, "third", 4};
  WorkloadContext contexts[3];
  SessionHooks hooks{};
  std::vector<Participant> entries{{"slow", &slow, &contexts[0]},
                                   {"fast", &fast, &contexts[1]},
                                   {"third", &third, &contexts[2]}};
  Fixture() {
    hooks.clock = [this] { return machine.now; };
  }
  AblationRecord run(const AblationOptions& options, const std::vector<Observer*>& observers = {}) {
    return run_turns(entries, options, hooks, observers);
  }
};

}  // namespace

TEST_CASE("each variant takes its turn in each round, forwards and backwards", "[turns]") {
  Fixture fixture;
  const AblationRecord record = fixture.run({1, 2, 1});
  CHECK(record.stop == StopReason::kCompleted);
  CHECK(fixture.machine.log ==
        "open-slow share-fast share-third "
        "slow fast third third fast slow slow fast third "
        "slow judge-slow fast judge-fast third judge-third ");
  REQUIRE(record.variants.size() == 3);
  const std::vector<Turn>& turns = record.variants[1].turns;
  REQUIRE(turns.size() == 3);
  CHECK(turns[0].warmup);
  CHECK_FALSE(turns[1].warmup);
  CHECK(turns[2].round == 3);
  CHECK(record.variants[0].turns[1].order == 3);
  CHECK(turns[1].step_seconds == std::vector<double>{2});
  CHECK(turns[1].phase_seconds.at("forward") == std::vector<double>{0.5});
  CHECK(record.variants[2].quality->value == 4);
  CHECK(record.data.dataset->name == "slow");
}

TEST_CASE("a turn may have several steps", "[turns]") {
  Fixture fixture;
  const AblationRecord record = fixture.run({0, 2, 3});
  CHECK(fixture.fast.steps == 6);
  CHECK(record.variants[1].turns[1].step_seconds == std::vector<double>{2, 2, 2});
  CHECK(record.variants[1].turns[1].phase_seconds.at("forward").size() == 3);
}

TEST_CASE("a variant's peak is its own share of what the process holds", "[turns]") {
  Fixture fixture;
  fixture.slow.weights = fixture.fast.weights = fixture.third.weights = 100;
  fixture.slow.activations = 1000;
  fixture.fast.activations = 300;
  fixture.fast.cache = 7;  // as if each of its steps found something it had kept
  fixture.machine.in_use = 55;
  const AblationRecord record = fixture.run({0, 2, 1});
  CHECK(record.variants[0].peak_bytes == 1100);
  CHECK(record.variants[1].peak_bytes == 407);
  CHECK(record.variants[2].peak_bytes == 100);
}

TEST_CASE("without counters there is no peak", "[turns]") {
  Fixture fixture;
  fixture.fast.counts = false;
  CHECK_FALSE(fixture.run({0, 1, 1}).variants[1].peak_bytes);
}

TEST_CASE("data that cannot be shared is opened again, and the cache is cleared once", "[turns]") {
  Fixture fixture;
  fixture.fast.shares = false;
  fixture.slow.root = "/somewhere";
  int cleared = 0;
  fixture.hooks.clear_cache = [&](const std::filesystem::path& root) {
    ++cleared;
    return nlohmann::json{{"root", root.string()}};
  };
  const AblationRecord record = fixture.run({0, 1, 1});
  CHECK_THAT(fixture.machine.log, Catch::StartsWith("open-slow open-fast share-third "));
  CHECK(cleared == 1);
  CHECK(record.preparation["cache_clear"]["root"] == "/somewhere");
}

TEST_CASE("an interrupt keeps the rounds that were finished, and only those", "[turns]") {
  Fixture fixture;
  fixture.hooks.stop_requested = [&] { return fixture.fast.steps == 3; };
  const AblationRecord record = fixture.run({1, 5, 1});
  CHECK(record.stop == StopReason::kInterrupted);
  for (const VariantRecord& variant : record.variants) {
    CHECK(variant.turns.size() == 2);
    CHECK_FALSE(variant.quality);
  }
}

TEST_CASE("before the first step there is nothing to keep", "[turns]") {
  Fixture fixture;
  fixture.hooks.stop_requested = [&] { return true; };
  CHECK_THROWS_AS(fixture.run({1, 5, 1}), Interrupted);
  Fixture failing;
  failing.slow.throw_at = 1;
  CHECK_THROWS_WITH(failing.run({1, 5, 1}), Catch::Contains("broke"));
}

TEST_CASE("a variant that throws or diverges is named", "[turns]") {
  {
    Fixture fixture;
    fixture.third.throw_at = 2;
    const AblationRecord record = fixture.run({0, 6, 1});
    CHECK(record.stop == StopReason::kFailed);
    CHECK(record.stop_detail == "third: scripted: broke");
    CHECK(record.variants[0].turns.size() == 1);
  }
  {
    Fixture fixture;
    fixture.fast.nan_at = 3;
    const AblationRecord record = fixture.run({0, 6, 1});
    CHECK(record.stop == StopReason::kNonFinite);
    CHECK_THAT(record.stop_detail, Catch::StartsWith("fast: loss 'total' is not a number"));
    CHECK(record.variants[0].turns.size() == 2);
    CHECK_FALSE(record.variants[0].quality);
  }
}

TEST_CASE("observers hear of every step with its variant and round", "[turns]") {
  struct Recorder : Observer {
    std::string heard;
    std::int64_t planned = 0;
    void length(const RunLength& length) override {
      planned = length.warmup_steps + length.min_steps;
    }
    void step(const StepRecord& record) override {
      heard += record.variant + std::to_string(record.round) + (record.warmup ? "w " : " ");
      CHECK(record.step == ++steps);
    }
    void evaluated(const Quality&, const EvaluationPoint& at) override {
      heard += at.variant + "! ";
    }
    void finished() override { heard += "finished"; }
    std::int64_t steps = 0;
  };
  Fixture fixture;
  fixture.entries.pop_back();
  Recorder recorder;
  fixture.run({1, 1, 1}, {&recorder});
  CHECK(recorder.heard == "slow1w fast1w fast2 slow2 slow! fast! finished");
  CHECK(recorder.planned == 4);
}
