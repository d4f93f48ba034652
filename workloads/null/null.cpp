// The workload without a model: scripted times, losses, quality and failures. It measures the
// harness itself and carries the tests of everything around a workload.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/registry.hpp"

namespace harness::workloads {
namespace {

std::vector<double> numbers(const std::string& key, const std::string& text) {
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) {
    if (part == "nan") {
      values.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (const auto value = parse_unbounded(part)) {
      using Limits = std::numeric_limits<double>;
      values.push_back(in_range("--set " + key + "=" + printable(text), *value, Limits::lowest(),
                                Limits::max()));
    } else {
      throw Error("--set " + key + "=" + printable(text), "not a list of numbers",
                  "for example --set " + key + "=1,2.5");
    }
  }
  return values;
}

double number(const std::string& key, const std::string& text) {
  return numbers(key, text).front();
}

/// `value` of `key`, if it is from 0 to `most`; NaN is neither.
double up_to(double most, const std::string& key, double value) {
  if (value >= 0 && value <= most) return value;
  throw Error("--set " + key, "out of range", "from 0 to " + std::to_string(std::llround(most)));
}

/// A step of one operator, which runs one primitive for as long as the phase "work" takes.
class NullRecorder : public StepRecorder {
 public:
  explicit NullRecorder(bool bf16) : type_(bf16 ? "bf16" : "f32") {}

  void begin_step() override { step_ = open(ScopeKind::kStep, "step", -1); }
  void end_step() override { close(step_); }
  void phase_begin(const char* name) override {
    phase_ = open(ScopeKind::kPhase, name, step_);
    operator_ = open(ScopeKind::kOperator, "null::sleep", phase_);
  }
  void phase_end(const char* /*name*/) override {
    const RecordedScope& slept = recording_.scopes[static_cast<std::size_t>(operator_)];
    const double ms = static_cast<double>(now() - slept.begin_ns) * 1e-6;
    recording_.log += "onednn_verbose,exec,cpu,reorder,null,undef,src_f32::blocked:a::f0 dst_" +
                      type_ + "::blocked:a::f0,,,1000," + std::to_string(ms) + "\n";
    close(operator_);
    close(phase_);
  }
  Recording take() override { return std::move(recording_); }

 private:
  static std::int64_t now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }
  std::int64_t open(ScopeKind kind, const std::string& name, std::int64_t parent) {
    const auto index = std::ssize(recording_.scopes);
    recording_.log += "#scope+ " + std::to_string(index) + "\n";
    RecordedScope scope;
    scope.kind = kind;
    scope.name = name;
    scope.parent = parent;
    scope.begin_ns = scope.end_ns = now();
    recording_.scopes.push_back(std::move(scope));
    return index;
  }
  void close(std::int64_t index) {
    recording_.scopes[static_cast<std::size_t>(index)].end_ns = now();
    recording_.log += "#scope- " + std::to_string(index) + "\n";
  }

  std::string type_;
  Recording recording_{};
  std::int64_t step_ = -1, phase_ = -1, operator_ = -1;
};

/// Sleeps for as long as a step of the primitive's precision does.
class NullReplayer : public Replayer {
 public:
  NullReplayer(double milliseconds, double bf16_speedup)
      : milliseconds_(milliseconds), bf16_speedup_(bf16_speedup) {}
  std::unique_ptr<PreparedPrimitive> prepare(const Primitive& primitive,
                                             const std::string& /*library*/) override {
    if (primitive.kind != "reorder") throw Error("null", "has no " + primitive.kind);
    const bool bf16 = !primitive.tensors.empty() && primitive.tensors.back().type == "bf16";
    return std::make_unique<Sleep>(bf16 ? milliseconds_ / bf16_speedup_ : milliseconds_);
  }
  std::string library() const override { return "null"; }

 private:
  class Sleep : public PreparedPrimitive {
   public:
    explicit Sleep(double milliseconds) : length_(milliseconds) {}
    double run() override {
      const auto begin = std::chrono::steady_clock::now();
      std::this_thread::sleep_for(length_);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    std::string implementation() const override { return "null"; }

   private:
    std::chrono::duration<double, std::milli> length_;
  };

  double milliseconds_;
  double bf16_speedup_;
};

class NullWorkload : public Workload {
 public:
  double estimate_memory(const WorkloadContext& context) override {
    // The first call: a script that makes no sense is refused before anything else happens.
    times_ms_ = numbers("step-ms", context.settings.at("step-ms"));
    for (const double ms : times_ms_) up_to(1e9, "step-ms", ms);
    speedup_ = speedup(context);
    qualities_ = numbers("quality", context.settings.at("quality"));
    const std::string& custom = context.settings.at("custom-quality");
    if (custom_kernels(context) && !custom.empty()) qualities_ = numbers("custom-quality", custom);
    evaluation_ms_ =
        up_to(1e9, "evaluation-ms", number("evaluation-ms", context.settings.at("evaluation-ms")));
    losses_ = numbers("losses", context.settings.at("losses"));
    const double fail_at =
        up_to(1e15, "fail-at", number("fail-at", context.settings.at("fail-at")));
    fail_at_ = static_cast<std::int64_t>(fail_at);
    epoch_steps_ = static_cast<std::int64_t>(
        up_to(1e6, "epoch-steps", number("epoch-steps", context.settings.at("epoch-steps"))));
    flops_ = up_to(1e18, "flops", number("flops", context.settings.at("flops")));
    return up_to(1e18, "memory", number("memory", context.settings.at("memory"))) *
           static_cast<double>(context.batch_size);
  }

  DataReport open_data(const WorkloadContext& context) override {
    DataReport report;
    report.train_samples = epoch_steps_ * context.batch_size;
    report.eval_samples = 1;
    return report;
  }

  void prepare(const WorkloadContext& context) override {
    context_ = &context;
    if (context.settings.at("fail-prepare") == "yes") {
      throw Error("null", "told to fail while preparing");
    }
  }

  std::int64_t steps_per_epoch() const override { return epoch_steps_; }

  void save_state(const std::filesystem::path& file) const override {
    std::ofstream stream(file);
    stream << "null " << steps_ << ' ' << evaluations_ << '\n';
    if (!stream.flush()) throw Error(printable(file.string()), "cannot be written");
  }

  void load_state(const std::filesystem::path& file) override {
    std::ifstream stream(file);
    std::string word;
    if (!(stream >> word >> steps_ >> evaluations_) || word != "null") {
      throw Error(printable(file.string()), "is no state of the workload 'null'");
    }
  }

  StepStats step() override {
    ++steps_;
    if (steps_ == fail_at_) throw Error("null", "told to fail at step " + std::to_string(steps_));
    const auto index = static_cast<std::size_t>(steps_ - 1);
    {
      const Phase phase = context_->phase("work");
      const double ms = times_ms_[index % times_ms_.size()] / speedup_;
      if (ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
    }
    return {context_->batch_size, {{"total", losses_[index % losses_.size()]}}};
  }

  Quality evaluate() override {
    sleep_for(evaluation_ms_);
    Quality quality{"scripted-quality", Direction::kHigher, std::nullopt, "", {}};
    const double value = qualities_[std::min(evaluations_++, qualities_.size() - 1)];
    if (value == value) {
      quality.value = value;
    } else {
      quality.reason = "not a number";
    }
    return quality;
  }

  std::unique_ptr<StepRecorder> recorder(const WorkloadContext& context) override {
    if (context.settings.at("recordable") == "no") return nullptr;
    return std::make_unique<NullRecorder>(context.precision == "bf16");
  }

  std::unique_ptr<Replayer> replayer(const WorkloadContext& context,
                                     const ReplaySizes& /*sizes*/) override {
    if (context.settings.at("recordable") == "no") return nullptr;
    WorkloadContext in_fp32 = context;
    in_fp32.precision = "fp32";
    estimate_memory(in_fp32);
    const double bf16 = number("bf16-speedup", context.settings.at("bf16-speedup"));
    return std::make_unique<NullReplayer>(times_ms_.front() / speedup_, bf16);
  }

  Cost cost() const override { return {flops_ / 3, flops_, flops_, 0, "fp32"}; }

  std::map<std::string, std::string> hyperparameters() const override {
    return {{"script", "step-ms, losses and quality as set"}};
  }

 private:
  /// Looks every now and then whether the run was asked to stop, as a real evaluation does.
  void sleep_for(double ms) const {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    const auto until = std::chrono::steady_clock::now() + Milliseconds(ms);
    for (Milliseconds left(ms); left.count() > 0; left = until - std::chrono::steady_clock::now()) {
      std::this_thread::sleep_for(std::min(left, Milliseconds(20)));
      context_->interrupted();
    }
  }

  static bool custom_kernels(const WorkloadContext& context) {
    const auto chosen = context.kernels.find("nothing");
    return chosen != context.kernels.end() && chosen->second == "custom";
  }

  static double speedup(const WorkloadContext& context) {
    double factor = 1;
    const auto take = [&](bool chosen, const std::string& key) {
      const double value = number(key, context.settings.at(key));
      if (!(value > 0)) throw Error("--set " + key, "not above 0");
      if (chosen) factor *= value;
    };
    take(custom_kernels(context), "custom-speedup");
    take(context.allocator == "pooled", "pooled-speedup");
    take(context.precision == "bf16", "bf16-speedup");
    return factor;
  }

  const WorkloadContext* context_ = nullptr;
  std::vector<double> times_ms_;
  double speedup_ = 1;
  std::vector<double> qualities_;
  std::size_t evaluations_ = 0;
  double evaluation_ms_ = 0;
  std::vector<double> losses_;
  std::int64_t fail_at_ = 0;
  double flops_ = 0;
  std::int64_t epoch_steps_ = 0;
  std::int64_t steps_ = 0;
};

WorkloadInfo info() {
  return {"null",
          "Scripted times, losses, quality and failures; measures the harness itself.",
          {"fp32", "bf16"},
          {"system", "pooled"},
          {{"step-ms", "1", "milliseconds each step sleeps, a list is repeated", {}},
           {"losses", "1", "loss of each step, a list is repeated; nan is a number here", {}},
           {"custom-speedup", "1", "divides step-ms with custom kernels", {}},
           {"pooled-speedup", "1", "divides step-ms with the pooled allocator", {}},
           {"bf16-speedup", "1", "divides step-ms in bf16", {}},
           {"quality", "1", "quality of each evaluation in turn, a list ends with the last", {}},
           {"evaluation-ms", "0", "milliseconds each evaluation sleeps", {}},
           {"custom-quality", "", "the same with custom kernels, where it differs", {}},
           {"memory", "1e6", "bytes a sample of the batch claims to need", {}},
           {"flops", "0", "work a step claims to do; above 0 the peaks are sampled too", {}},
           {"epoch-steps", "10", "steps in an epoch, where a tier trains to a target", {}},
           {"fail-at", "0", "step that fails, 0 for none", {}},
           {"recordable", "yes", "whether `harness profile` can look into it", {"yes", "no"}},
           {"fail-prepare", "no", "fail before the first step", {"no", "yes"}}},
          {{"nothing",
            "does nothing, with any implementation",
            {{"reference", "sleeps"},
             {"custom", "sleeps as well"},
             {"elsewhere", "shows what is refused", "it was made for no machine at all"}}}},
          {},
          false};
}

const RegisterWorkload registered(info, [] { return std::make_unique<NullWorkload>(); });

}  // namespace
}  // namespace harness::workloads
