// The interface between the instrument and what it measures. A workload never sees the clock, a
// flag or stdout; the instrument never sees a tensor. What a workload can do beyond this core it
// says by the types in capabilities.hpp.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/steady.hpp"
#include "harness/base/tuning.hpp"
#include "harness/base/types.hpp"
#include "harness/workload/model_task.hpp"
#include "harness/workload/ranks.hpp"

namespace harness {

/// A `--set KEY=VALUE` that a workload understands.
struct SettingInfo {
  std::string key{};
  std::string default_value{};
  std::string summary{};
  std::vector<std::string> choices{};  ///< empty: free text, checked by the workload
};

struct ImplementationInfo {
  std::string name{};  ///< `reference`, `custom`
  std::string summary{};
  std::string unavailable{};  ///< why this machine cannot run it; empty: it can
  /// The instruction set whose table (tuning.hpp) it follows; empty: it follows none.
  std::string tuned_for{};
};

/// An operator that a workload takes from kernels/, with the implementations registered for it.
struct OperatorInfo {
  std::string name{};
  std::string summary{};
  std::vector<ImplementationInfo> implementations{};
};

/// What a workload is, known without building a model or touching data.
struct WorkloadInfo {
  std::string name{};
  std::string summary{};
  /// What it can do, by the names of the settings (result/setting.hpp) that choose among it:
  /// precision, allocator. For a setting that is not named all of its choices.
  std::map<std::string, std::vector<std::string>> offers{};
  std::vector<SettingInfo> settings{};
  std::vector<OperatorInfo> operators{};
  std::vector<std::string> golden_formats{};  ///< values of "format" that verify() understands
  std::string data_folder{};                  ///< what `--data DIR` has to hold; empty: takes none
  bool shares_steps = false;  ///< several ranks can share its steps (WorkloadContext::ranks)
};

/// Where the time of a step goes. The workload marks, the instrument times.
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  virtual void phase_begin(const char* name) = 0;
  virtual void phase_end(const char* name) = 0;
};

/// Measures parts of kernels' work ("pack", "convolution") for those who tell them apart; they may
/// overlap with phases and with each other. Called from any thread.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  virtual double now() const = 0;  ///< seconds
  virtual void add(const char* stage, double seconds) = 0;
  /// When a part of it began and ended, for those who draw it.
  virtual void span(const std::string& /*name*/, double /*begin*/, double /*end*/) {}
};

/// Marks one phase for as long as it lives; phases do not nest.
class Phase {
 public:
  Phase(PhaseListener* listener, const char* name) : listener_(listener), name_(name) {
    if (listener_ != nullptr) listener_->phase_begin(name_);
  }
  ~Phase() {
    if (listener_ != nullptr) listener_->phase_end(name_);
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  PhaseListener* listener_;
  const char* name_;
};

/// Everything a workload is told. `progress` reports long preparations ("composing scenes", 12,
/// 320) and `interrupted` throws Interrupted when the run was asked to stop; both are never empty.
/// Of several ranks all call `interrupted` equally often: they decide together.
struct WorkloadContext {
  KernelSet kernels{};
  TuningTable tuning{};  ///< without lines where there is none
  std::string precision = "fp32";
  std::string allocator = "system";
  std::int64_t batch_size = 1;
  std::int64_t samples_in_memory = 1024;  ///< of an evaluation set, at most, while it is asked
  int threads = 1;
  Ranks* ranks = nullptr;  ///< the processes that share the work of each step; null: there is one
  Seeds seeds{};
  std::map<std::string, std::string> settings{};  ///< its own, defaults filled in
  std::map<std::string, std::string> chosen{};  ///< settings of all workloads without a member here
  std::optional<ModelTask> model{};             ///< of a task file, for the workload behind it
  std::filesystem::path data_dir{};             ///< empty: the workload's own default data
  std::filesystem::path home{};    ///< folder that holds rules/, results/, tests/golden
  std::int64_t planned_steps = 0;  ///< warm-up and timed steps; 0 when open-ended
  std::int64_t max_epochs = 0;     ///< above 0: trains for at most so many
  std::string quality_metric{};    ///< what evaluate() is to give; empty: the workload's only one
  /// Of the training set, the samples whose activations set the ranges of int8.
  std::vector<std::int64_t> calibration{};
  PhaseListener* phases = nullptr;
  Stopwatch* stopwatch = nullptr;  ///< null: nobody asks for stages
  std::function<void(const std::string& what, std::int64_t done, std::int64_t total)> progress =
      [](const std::string&, std::int64_t, std::int64_t) {};
  std::function<void()> interrupted = [] {};
  /// Says `what` in a line and ends the process as an aborted run ends: for a model that does not
  /// come back. From any thread.
  std::function<void(const std::string& what)> give_up = [](const std::string&) { std::_Exit(2); };
  /// Seconds that this process had, also where others stop it for their turns: to end a model that
  /// takes too long, not to time one. From any thread.
  std::function<double()> seconds_worked = steady_seconds;

  [[nodiscard]] Phase phase(const char* name) const { return {phases, name}; }
  int rank() const { return ranks == nullptr ? 0 : ranks->rank(); }
  int world() const { return ranks == nullptr ? 1 : ranks->world(); }
  /// Samples of a step of all ranks together; `batch_size` is one rank's.
  std::int64_t global_batch_size() const { return batch_size * world(); }
};

/// What is known of a run before it begins, from its settings (and from the data, once opened).
struct Description {
  /// Bytes a run needs at its peak, from shapes; used to refuse absurd sizes.
  double peak_bytes = 0;
};

/// Data that was opened and verified before the clock starts.
struct DataReport {
  std::optional<Artifact> dataset{};  ///< empty for workloads without data
  std::filesystem::path root{};       ///< folder whose files are dropped from the page cache
  std::int64_t train_samples = 0;     ///< in the whole training set
  std::int64_t eval_samples = 0;      ///< in the whole evaluation set
};

/// What is known once a workload is prepared; a workload leaves out what it does not have.
struct WorkloadFacts {
  std::optional<Cost> cost{};  ///< of a step
  /// Values the rules check: learning rate, warm-up, optimiser name, ...
  std::map<std::string, std::string> hyperparameters{};
  std::vector<Artifact> weights{};  ///< loaded or generated
  /// Of what ran so far.
  std::vector<KernelChoice> choices{};
  /// In the order in which they would be summed; of a run that is recorded.
  std::vector<GradientBucket> gradients{};
  /// Library versions and thread counts only the workload can see (LibTorch, oneDNN, OpenMP).
  std::map<std::string, std::string> software{};
};

/// By the allocator's own counters, in the whole process; bytes.
struct MemoryUse {
  double peak = 0;  ///< since prepare()
};

/// The unit of measurement. Order of calls: describe, open_data, describe again, prepare, then what
/// its capabilities offer. Each may throw Error for input a person can mend.
class Workload {
 public:
  virtual ~Workload() = default;

  /// Reads the settings and keeps nothing; throws Error for those that make no sense. Asked again
  /// after open_data, when the data may have told more.
  virtual Description describe(const WorkloadContext& context) const = 0;
  /// Finds (or composes) and verifies the data. Untimed.
  virtual DataReport open_data(const WorkloadContext& /*context*/) { return {}; }
  /// Builds model and optimiser. Untimed. `context` outlives the workload.
  virtual void prepare(const WorkloadContext& context) = 0;
  /// From prepare() on.
  virtual WorkloadFacts facts() const { return {}; }
  /// Empty for workloads without an allocator that counts.
  virtual std::optional<MemoryUse> memory() const { return std::nullopt; }
};

}  // namespace harness
