// A workload whose one operator chooses among kernels by a table: two that sleep, one that breaks.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/workload/capabilities.hpp"
#include "harness/workload/registry.hpp"

namespace {

using namespace harness;  // NOLINT(google-build-using-namespace)

constexpr const char* kInstructions = "stub_isa";
const std::map<std::string, double> kMilliseconds = {{"fast", 0.2}, {"slow", 3}};

void sleep_ms(double ms) { std::this_thread::sleep_for(std::chrono::duration<double>(ms * 1e-3)); }

class Sleep : public PreparedPrimitive {
 public:
  explicit Sleep(double ms) : ms_(ms) {}
  void chill() override {}
  void run() override { sleep_ms(ms_); }
  std::string implementation() const override { return "sleep"; }

 private:
  double ms_;
};

class Kernels : public KernelCandidates {
 public:
  std::string instruction_set() const override { return kInstructions; }
  std::vector<std::string> names(const TuningProblem& /*problem*/) override {
    return {"slow", "fast", "broken"};
  }
  std::unique_ptr<PreparedPrimitive> prepare(const TuningProblem& problem,
                                             const std::string& kernel) override {
    const auto known = kMilliseconds.find(kernel);
    if (known == kMilliseconds.end()) throw Error(kernel + " for " + problem.problem, "is broken");
    return std::make_unique<Sleep>(known->second);
  }
};

/// Tells how long the steps took, and of nothing within them.
class StepsAlone : public StepRecorder {
 public:
  void begin_step() override {
    RecordedScope step;
    step.kind = ScopeKind::kStep;
    step.name = "step";
    step.begin_ns = now();
    recording_.scopes.push_back(std::move(step));
  }
  void end_step() override { recording_.scopes.back().end_ns = now(); }
  void phase_begin(const char* /*name*/) override {}
  void phase_end(const char* /*name*/) override {}
  Recording take() override { return std::move(recording_); }

 private:
  static std::int64_t now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }

  Recording recording_{};
};

class StubTuned : public Workload, public Steps, public Tunable, public Recordable {
 public:
  Description describe(const WorkloadContext& /*context*/) const override { return {1e6}; }
  void prepare(const WorkloadContext& context) override {
    context_ = &context;
    for (const auto& [problem, line] : context.tuning.lines) {
      if (kMilliseconds.count(line.kernel) == 0) {
        throw Error("the tuning table", "no kernel is named '" + line.kernel + "'");
      }
    }
  }
  WorkloadFacts facts() const override {
    WorkloadFacts facts;
    facts.choices = choices_;
    return facts;
  }
  StepStats step() override {
    choices_.clear();
    if (context_->kernels.at("mix") == "custom") {
      for (const char* pass : {"forward", "backward_data"}) {
        const auto line = context_->tuning.lines.find({"mb1_ic8", "f32", pass, context_->threads});
        const bool known = line != context_->tuning.lines.end();
        choices_.push_back({"mix", "mb1_ic8", "f32", pass, known ? line->second.kernel : "slow",
                            "sleep", 1, known ? 0.25 : 1});
      }
    }
    sleep_ms(1);
    return {context_->batch_size, {}};
  }
  Quality evaluate() override { return {"error", Direction::kLower, 0, {}, {}, {}}; }

  std::unique_ptr<KernelCandidates> candidates(const ReplaySizes& /*sizes*/) override {
    return std::make_unique<Kernels>();
  }
  std::unique_ptr<StepRecorder> recorder(const WorkloadContext& /*context*/) override {
    return std::make_unique<StepsAlone>();
  }

 private:
  const WorkloadContext* context_ = nullptr;
  std::vector<KernelChoice> choices_{};
};

WorkloadInfo info() {
  return {.name = "stub-tuned",
          .summary = "Follows a table.",
          .offers = {{"precision", {"fp32"}}, {"allocator", {"system"}}},
          .operators = {{"mix",
                         "Nothing.",
                         {{"reference", "Nothing, slowly.", "", ""},
                          {"custom", "Nothing, as a table says.", "", kInstructions}}}}};
}

const RegisterWorkload registered(info, [] { return std::make_unique<StubTuned>(); });

}  // namespace
