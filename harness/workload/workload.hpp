// The interface between the instrument and what it measures. A workload never sees the clock, a
// flag or stdout; the instrument never sees a tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/types.hpp"
#include "harness/profile/recording.hpp"
#include "harness/workload/replayer.hpp"

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
  std::vector<std::string> precisions{};
  std::vector<std::string> allocators{};
  std::vector<SettingInfo> settings{};
  std::vector<OperatorInfo> operators{};
  std::vector<std::string> golden_formats{};  ///< values of "format" that verify() understands
  bool uses_data = false;                     ///< takes `--data DIR`
};

/// Where the time of a step goes. The workload marks, the runner times.
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  virtual void phase_begin(const char* name) = 0;
  virtual void phase_end(const char* name) = 0;
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

/// Records what happens inside steps: operators, kernels, primitives, memory. It is told the phases
/// while it records.
class StepRecorder : public PhaseListener {
 public:
  /// Between the two a step runs, which takes longer than it would. Throw Error where recording is
  /// not possible.
  virtual void begin_step() = 0;
  virtual void end_step() = 0;
  /// All steps so far.
  virtual Recording take() = 0;
};

/// Everything a workload is told. `progress` reports long preparations ("composing scenes", 12,
/// 320) and `interrupted` throws Interrupted when the run was asked to stop; both are never empty.
struct WorkloadContext {
  KernelSet kernels{};
  std::string precision = "fp32";
  std::string allocator = "system";
  std::int64_t batch_size = 1;
  int threads = 1;
  Seeds seeds{};
  std::map<std::string, std::string> settings{};  ///< defaults filled in
  std::filesystem::path data_dir{};               ///< empty: the workload's own default data
  std::filesystem::path home{};    ///< folder that holds rules/, results/, tests/golden
  std::int64_t planned_steps = 0;  ///< warm-up and timed steps; 0 when open-ended
  std::int64_t max_epochs = 0;     ///< above 0: trains to a target, for at most so many epochs
  std::string quality_metric{};    ///< what evaluate() is to give; empty: the workload's only one
  PhaseListener* phases = nullptr;
  std::function<void(const std::string& what, std::int64_t done, std::int64_t total)> progress =
      [](const std::string&, std::int64_t, std::int64_t) {};
  std::function<void()> interrupted = [] {};

  [[nodiscard]] Phase phase(const char* name) const { return {phases, name}; }
};

/// What a step tells the runner. Losses by name ("total", "classification", "box"); a value may be
/// NaN or infinite, the runner then ends the run.
struct StepStats {
  std::int64_t samples = 0;  ///< training samples consumed
  std::map<std::string, double> losses{};
  /// Seconds that kernels say they spent in parts of their work ("pack", "convolution"), where they
  /// measure it themselves; they may overlap with phases.
  std::map<std::string, double> stages{};
};

/// Data that was opened and verified before the clock starts.
struct DataReport {
  std::optional<Artifact> dataset{};  ///< empty for workloads without data
  std::filesystem::path root{};       ///< folder whose files are dropped from the page cache
  std::int64_t train_samples = 0;     ///< in the whole training set
  std::int64_t eval_samples = 0;      ///< in the whole evaluation set
};

/// The unit of measurement. Order of calls: estimate_memory, open_data, prepare, (load_state,)
/// begin_training, step..., evaluate; when training to a target the last two again each epoch.
/// Each may throw Error for input a person can mend. Several instances may live in one process and
/// take turns; activate() then goes before each turn and before evaluate().
class Workload {
 public:
  virtual ~Workload() = default;

  /// Bytes a run with this context needs at its peak, from shapes; used to refuse absurd sizes.
  /// Asked again after open_data, when the data may have told more.
  virtual double estimate_memory(const WorkloadContext& context) = 0;
  /// The part of it that stays in use between steps (weights, optimiser), while other instances
  /// take their turns. Called after estimate_memory.
  virtual double estimate_resident_memory(const WorkloadContext& context) {
    return estimate_memory(context);
  }
  /// Finds (or composes) and verifies the data. Untimed.
  virtual DataReport open_data(const WorkloadContext& context) = 0;
  /// In place of open_data(): takes over what `other`, with the same data settings, has opened.
  /// False where that cannot be done.
  virtual bool share_data(const Workload& /*other*/) { return false; }
  /// Builds model and optimiser. Untimed. `context` outlives the workload.
  virtual void prepare(const WorkloadContext& context) = 0;
  /// Makes this instance's allocator and threads those of the process, and lets
  /// peak_memory_bytes() start anew from what is in use. Untimed; prepare() does as much itself.
  virtual void activate() {}
  /// From here on training data may be touched (decoded ahead, say); before, only verified. On the
  /// clock of a run that trains to a target.
  virtual void begin_training() {}
  /// Steps in an epoch, from prepare() on; 0 for workloads that know no epochs.
  virtual std::int64_t steps_per_epoch() const { return 0; }
  /// The timed unit.
  virtual StepStats step() = 0;
  /// Quality after the timed steps (or after an epoch).
  virtual Quality evaluate() = 0;
  /// Writes all that decides what the next step gives (weights, optimiser, place in the data) to
  /// `file`. Only workloads with epochs can.
  virtual void save_state(const std::filesystem::path& file) const;
  /// Goes on from what save_state() of an equal workload, with an equal context, wrote. Throws
  /// Error for a file that is damaged or of another model.
  virtual void load_state(const std::filesystem::path& file);
  virtual Cost cost() const = 0;
  /// Values the rules check: learning rate, warm-up, optimiser name, ...
  virtual std::map<std::string, std::string> hyperparameters() const = 0;
  /// Weights loaded or generated.
  virtual std::vector<Artifact> weights() const { return {}; }
  /// Bytes at the peak since prepare() or activate() by the allocator's own counters, in the whole
  /// process; empty where it has none.
  virtual std::optional<double> peak_memory_bytes() const { return std::nullopt; }
  /// Bytes in use now by the same counters, to tell the instances of one process apart.
  virtual std::optional<double> memory_in_use_bytes() const { return std::nullopt; }
  /// For `harness profile`; empty for workloads that cannot be looked into.
  virtual std::unique_ptr<StepRecorder> recorder(const WorkloadContext& /*context*/) {
    return nullptr;
  }
  /// For `harness project`: runs primitives with the allocator and the threads of the context,
  /// which become those of the process; also before prepare(). Empty for workloads that cannot be
  /// looked into.
  virtual std::unique_ptr<Replayer> replayer(const WorkloadContext& /*context*/,
                                             const ReplaySizes& /*sizes*/) {
    return nullptr;
  }
  /// Library versions and thread counts only the workload can see (LibTorch, oneDNN, OpenMP).
  virtual std::map<std::string, std::string> software() const { return {}; }
  /// Checks a golden file (parsed by the workload); one Check per quantity.
  virtual std::vector<Check> verify(const std::filesystem::path& golden,
                                    const WorkloadContext& context);
};

}  // namespace harness
