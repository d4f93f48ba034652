// The smallest example of a workload: one without a model, which does what its script says. It
// measures the harness itself and carries the tests of everything around a workload.
#include "harness/workload/registry.hpp"
#include "workloads/null/script.hpp"
#include "workloads/null/scripted_recorder.hpp"
#include "workloads/null/scripted_replayer.hpp"

namespace harness::workloads {
namespace {

class Null : public Workload, public Trains, public Recordable, public Replayable {
 public:
  Description describe(const WorkloadContext& context) const override {
    return {read_script(context).memory_bytes};
  }
  DataReport open_data(const WorkloadContext& context) override {
    return {{}, {}, read_script(context).epoch_steps * context.batch_size, 1};
  }
  void prepare(const WorkloadContext& context) override {
    context_ = &context;
    script_ = read_script(context);
    if (script_.fails_to_prepare) throw Error("null", "told to fail while preparing");
  }
  WorkloadFacts facts() const override {
    WorkloadFacts facts{.hyperparameters = {{"script", "step-ms, losses and quality as set"}}};
    // As of a model whose last layers have most of the work and its first ones most of the weights.
    if (recorded_) facts.gradients = {{2e6, 0.75}, {8e6, 0.9}, {6e6, 1}};
    const double flops = script_.flops;
    if (flops > 0) facts.cost = Cost{flops / 3, flops, flops, {}, "fp32"};
    return facts;
  }

  std::int64_t steps_per_epoch() const override { return script_.epoch_steps; }
  StepStats step() override {
    const auto index = static_cast<std::size_t>(place_.steps++);
    if (place_.steps == script_.fail_at) {
      throw Error("null", "told to fail at step " + std::to_string(place_.steps));
    }
    {
      const Phase phase = context_->phase("work");
      sleep_for(script_.step_ms[index % script_.step_ms.size()]);
    }
    return {context_->global_batch_size(),
            {{"total", script_.losses[index % script_.losses.size()]}}};
  }
  Quality evaluate() override {
    if (context_->world() == 1) {
      sleep_for(script_.evaluation_ms, *context_);
    } else {
      sleep_for(script_.evaluation_ms);
    }
    return script_.quality(place_.evaluations++);
  }
  void save_state(const std::filesystem::path& file) const override { place_.save(file); }
  void load_state(const std::filesystem::path& file) override { place_.load(file); }

  std::unique_ptr<StepRecorder> recorder(const WorkloadContext& context) override {
    recorded_ = true;
    return make_scripted_recorder(context);
  }
  std::unique_ptr<Replayer> replayer(const WorkloadContext& context,
                                     const ReplaySizes& /*sizes*/) override {
    return make_scripted_replayer(context);
  }

 private:
  const WorkloadContext* context_ = nullptr;
  Script script_{};
  ScriptPlace place_{};
  bool recorded_ = false;
};

WorkloadInfo info() {
  return {.name = "null",
          .summary = "Scripted times, losses, quality and failures; measures the harness itself.",
          .offers = {{"precision", {"fp32", "bf16"}}, {"allocator", {"system", "pooled"}}},
          .settings = script_settings(),
          .operators = script_operators(),
          .shares_steps = true};
}

const RegisterWorkload registered(info, [] { return std::make_unique<Null>(); });

}  // namespace
}  // namespace harness::workloads
