// Events of a run, in order: stage*, (progress*), step*, evaluated*, finished. A run that trains to
// a quality target has more: run_begin, data_opened, (epoch_begin, step*, epoch_end,
// evaluation_begin, evaluated)*, run_end, finished. Observers print or write, scenarios do neither.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/types.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// A stretch of time within a step, by the session's clock.
struct Span {
  std::string name{};
  bool beside = false;  ///< it went on beside the phases of the step
  double begin = 0;
  double end = 0;
};

/// One step as it was measured; times in seconds.
struct StepRecord {
  std::int64_t step = 0;  ///< 1-based, warm-up included
  bool warmup = false;
  bool recorded = false;  ///< looked into by a StepRecorder, so slower than it would be
  double seconds = 0;
  double own_seconds = 0;  ///< of this rank, where several share the step; else the same
  std::map<std::string, double> phases{};  ///< phase name -> seconds
  std::map<std::string, double>
      stages{};  ///< parts of kernels' work -> seconds, may overlap phases
  std::map<std::string, double> losses{};  ///< may be non-finite
  std::int64_t samples = 0;
  double elapsed = 0;         ///< since the first step began, by the monotonic clock
  std::int64_t epoch = 0;     ///< 1-based, of a run that trains to a target; 0 elsewhere
  std::vector<Span> spans{};  ///< the step and its parts, where somebody asks for them
};

/// What is known about the length of the run, for the time left.
struct RunLength {
  std::int64_t warmup_steps = 0;
  std::int64_t min_steps = 0;
  double min_seconds = 0;
  std::int64_t max_epochs = 0;  ///< above 0: epochs of `min_steps` steps each, at most so many
  /// Of LoadGen's queries: "query", "batch". `min_seconds` are by the clock then, since queries may
  /// overlap, and with `in_samples` the least is a number of samples.
  std::string unit{};
  bool in_samples = false;
};

/// Where in a run an evaluation stands.
struct EvaluationPoint {
  std::int64_t epoch = 0;    ///< 1-based, the last one trained; 0 in a run without epochs
  std::int64_t samples = 0;  ///< trained on so far; 0 in a run without epochs
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// A new part of the run begins: "cache", "data", "prepare", "steps" or "train", "evaluate".
  virtual void stage(const std::string& /*name*/) {}
  virtual void progress(const std::string& /*what*/, std::int64_t /*done*/,
                        std::int64_t /*total*/) {}
  virtual void length(const RunLength& /*length*/) {}
  virtual void step(const StepRecord& /*record*/) {}
  /// The steps from `first` on do not count: what they were is measured again, under their numbers.
  virtual void dropped(std::int64_t /*first*/, const std::string& /*why*/) {}
  virtual void evaluated(const Quality& /*quality*/, const EvaluationPoint& /*at*/) {}
  virtual void finished() {}

  // Of a run that trains to a quality target.
  /// The data set was dropped from memory before the run, or (`complete` false) why not.
  virtual void cache_cleared(bool /*complete*/, const std::string& /*reason*/) {}
  /// The model is built and the clock starts: no training or evaluation data was touched so far.
  virtual void run_begin() {}
  /// In place of run_begin() and data_opened(): a run goes on. If it stopped within an epoch, no
  /// epoch_begin() comes for that one.
  virtual void resumed(const Resumption& /*where*/) {}
  /// Pictures (or whatever a sample is) in the whole training and evaluation sets.
  virtual void data_opened(std::int64_t /*train_samples*/, std::int64_t /*eval_samples*/) {}
  /// Epochs are numbered from 1.
  virtual void epoch_begin(std::int64_t /*epoch*/) {}
  virtual void epoch_end(std::int64_t /*epoch*/) {}
  /// evaluated() follows, unless the evaluation fails.
  virtual void evaluation_begin(std::int64_t /*epoch*/) {}
  /// The clock stops. A run that ends without this event was aborted.
  virtual void run_end(bool /*target_reached*/) {}
};

}  // namespace harness
