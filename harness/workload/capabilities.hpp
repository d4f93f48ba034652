// What a workload can do, each a type of its own: a workload derives from those it has, and the
// instrument asks for the one it needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/recording.hpp"
#include "harness/workload/replayer.hpp"
#include "harness/workload/workload.hpp"

namespace harness {

/// What is said of a workload that lacks a capability.
struct Lack {
  const char* why;
  const char* hint;
};

/// What a step tells whoever drives it. Losses by name ("total", "box"); a value may be NaN or
/// infinite, which ends the run.
struct StepStats {
  std::int64_t samples = 0;  ///< training samples consumed
  std::map<std::string, double> losses{};
};

/// The detail of a data set whose samples are asked for more than once each: how often.
inline constexpr const char* kTimesOver = "times_over";

/// Answers queries about samples of its evaluation set, for the scenarios of inference.
class Answers {
 public:
  static constexpr Lack kLack{"the workload answers no queries",
                              "it runs in the scenarios steps or epochs"};
  using Samples = std::vector<std::int64_t>;
  virtual ~Answers() = default;

  // From prepare() on.
  /// In the evaluation set, numbered from 0.
  virtual std::int64_t samples() const = 0;
  /// Reads and prepares them, so that answers find them in memory; drops what was there before.
  virtual void load(const Samples& samples) = 0;
  /// A row of numbers for each of `samples`, which are loaded, all of one length.
  virtual std::vector<float> answer_query(const Samples& samples) = 0;
  /// From the rows of all samples, in their order.
  virtual Quality score_answers(const std::vector<float>& rows) const = 0;
};

/// Does the same work again and again. From prepare() on: begin_steps once, then step and evaluate
/// in any order.
class Steps {
 public:
  static constexpr Lack kLack{"the workload does no steps", ""};
  virtual ~Steps() = default;

  /// From here on training data may be touched (decoded ahead, say); before, only verified. On the
  /// clock of a run that trains to a target.
  virtual void begin_steps() {}
  /// The timed unit.
  virtual StepStats step() = 0;
  /// Returns when nothing of it works in the background any more (what decodes ahead has enough).
  /// Called behind each step where other processes take turns with this one, within the step's
  /// time.
  virtual void rest() {}
  /// Quality after the timed steps (or after an epoch).
  virtual Quality evaluate() = 0;
};

/// Trains a model in epochs, to a target: after each of them comes evaluate().
class Trains : public Steps {
 public:
  static constexpr Lack kLack{"the workload has no epochs to train in", "choose another tier"};

  /// From prepare() on; 0 where the settings make it have none.
  virtual std::int64_t steps_per_epoch() const = 0;
  /// Writes all that decides what the next step gives (weights, optimiser, place in the data) to
  /// `file`.
  virtual void save_state(const std::filesystem::path& file) const = 0;
  /// Between prepare() and begin_steps(): goes on from what save_state() of an equal workload, with
  /// an equal context, wrote. Throws Error for a file that is damaged or of another model.
  virtual void load_state(const std::filesystem::path& file) = 0;
  /// Writes what was trained, for others to use, over what was at `file`; `labels` (UTF-8) say
  /// where it comes from. Asked of workloads that offer the setting keep_weights. Throws Error
  /// where it cannot be written.
  virtual void write_weights(const std::filesystem::path& file,
                             const std::map<std::string, std::string>& labels) const {
    (void)file, (void)labels;
    throw Error("the weights", "this workload has none");
  }
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

/// Can be looked into by `harness profile`.
class Recordable {
 public:
  static constexpr Lack kLack{"cannot be looked into", "it runs no operators"};
  virtual ~Recordable() = default;

  /// Before prepare(). Never null; throws Error where the settings forbid it.
  virtual std::unique_ptr<StepRecorder> recorder(const WorkloadContext& context) = 0;
};

/// Runs its primitives one by one, for `harness project`.
class Replayable {
 public:
  static constexpr Lack kLack{"cannot be replayed", "it runs no primitives"};
  virtual ~Replayable() = default;

  /// Runs them with the allocator and the threads of the context, which become those of the
  /// process; also before prepare(). Never null.
  virtual std::unique_ptr<Replayer> replayer(const WorkloadContext& context,
                                             const ReplaySizes& sizes) = 0;
};

/// Kernels among which a table chooses, ready to be timed.
class KernelCandidates {
 public:
  virtual ~KernelCandidates() = default;
  /// What tables are made for: "avx512_core_bf16".
  virtual std::string instruction_set() const = 0;
  /// By name, all that compute `problem` exactly enough; first the one that is taken where no table
  /// knows it. Throws Error for what is no problem.
  virtual std::vector<std::string> names(const TuningProblem& problem) = 0;
  /// Throws Error where the kernel cannot run it after all. Not to outlive this.
  virtual std::unique_ptr<PreparedPrimitive> prepare(const TuningProblem& problem,
                                                     const std::string& kernel) = 0;
};

/// Follows a table of kernels, for `harness tune`: its facts have the problems, once a step ran.
class Tunable {
 public:
  static constexpr Lack kLack{"has nothing to tune", "none of its operators follows a table"};
  virtual ~Tunable() = default;

  /// From prepare() on, with its allocator and threads. Never null.
  virtual std::unique_ptr<KernelCandidates> candidates(const ReplaySizes& sizes) = 0;
};

/// Compares itself with golden data.
class Verifiable {
 public:
  static constexpr Lack kLack{"this workload has no golden data to verify", ""};
  virtual ~Verifiable() = default;

  /// Checks a golden file (parsed by the workload); one Check per quantity. Needs no prepare().
  virtual std::vector<Check> verify(const std::filesystem::path& golden,
                                    const WorkloadContext& context) = 0;
};

/// Null where `workload` does not have the capability.
template <class Capability>
Capability* as(Workload& workload) {
  return dynamic_cast<Capability*>(&workload);
}

/// Throws Error that `what` fails for want of the capability.
template <class Capability>
Capability& demand(Workload& workload, const std::string& what) {
  if (Capability* found = as<Capability>(workload)) return *found;
  throw Error(what, Capability::kLack.why, Capability::kLack.hint);
}

}  // namespace harness
