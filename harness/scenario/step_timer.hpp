// The clock around one step and its phases.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "harness/base/steady.hpp"
#include "harness/scenario/observer.hpp"
#include "harness/workload/capabilities.hpp"

namespace harness {

/// Seconds on a monotonic clock.
using Clock = std::function<double()>;

/// Times steps. A step pays two clock reads for itself and two for each phase, nothing else:
/// observers run between steps.
class StepTimer : public PhaseListener, public Stopwatch {
 public:
  /// `clock` outlives this.
  explicit StepTimer(const Clock& clock) : clock_(clock) {}

  void phase_begin(const char* name) override;
  void phase_end(const char* name) override;
  double now() const override { return clock_(); }
  void add(const char* stage, double seconds) override;
  void span(const std::string& name, double begin, double end) override;

  /// One step of a workload whose context has this as its listener. Fills what the clock and the
  /// workload tell; `start` is when the first step began. With `rest` the step ends when nothing of
  /// it works in the background any more.
  StepRecord time_step(Steps& steps, double start, bool rest = false);
  /// From then on a step takes as long as the slowest of the ranks needs for it, and its losses are
  /// the means over the ranks. Null: there are no others.
  void share_with(Ranks* ranks) { ranks_ = ranks; }
  /// Hands the phases on, too; null: to nobody.
  void tell(PhaseListener* listener) { listener_ = listener; }
  /// From then on the record of a step has its spans.
  void keep_spans() { keeps_spans_ = true; }
  /// Drops phases that were marked outside a step.
  void forget() {
    phases_.clear();
    stages_.clear();
    spans_.clear();
  }

 private:
  void keep(Span span);
  /// What all ranks are to know of the step: the longest time, the mean losses.
  void share(StepRecord& step) const;

  const Clock& clock_;
  PhaseListener* listener_ = nullptr;
  Ranks* ranks_ = nullptr;
  double begin_ = 0;
  std::map<std::string, double> phases_;
  bool keeps_spans_ = false;
  std::mutex mutex_;  ///< of stages_ and spans_
  std::map<std::string, double> stages_;
  std::vector<Span> spans_;
};

/// "loss 'total' is not a number at step 3", or empty when all are finite.
std::string non_finite_loss(const StepRecord& record);

}  // namespace harness
