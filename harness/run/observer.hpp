// Events of a run, in order: stage*, (progress*), step*, evaluated*, finished. Observers print or
// write; the runner itself does neither.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/types.hpp"

namespace harness {

/// One step as it was measured; times in seconds.
struct StepRecord {
  std::int64_t step = 0;  ///< 1-based, warm-up included
  bool warmup = false;
  double seconds = 0;
  std::map<std::string, double> phases{};  ///< phase name -> seconds
  std::map<std::string, double>
      stages{};  ///< parts of kernels' work -> seconds, may overlap phases
  std::map<std::string, double> losses{};  ///< may be non-finite
  std::int64_t samples = 0;
  double elapsed = 0;      ///< since the first step began, by the monotonic clock
  std::string variant{};   ///< of an ablation; empty in a run
  std::int64_t round = 0;  ///< of an ablation, 1-based, warm-up included; 0 in a run
};

/// What is known about the length of the run, for the time left.
struct RunLength {
  std::int64_t warmup_steps = 0;
  std::int64_t min_steps = 0;
  double min_seconds = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// A new part of the run begins: "data", "cache", "prepare", "warm-up", "timed", "evaluate".
  virtual void stage(const std::string& /*name*/) {}
  virtual void progress(const std::string& /*what*/, std::int64_t /*done*/,
                        std::int64_t /*total*/) {}
  virtual void length(const RunLength& /*length*/) {}
  virtual void step(const StepRecord& /*record*/) {}
  /// `variant` is that of an ablation; empty in a run.
  virtual void evaluated(const Quality& /*quality*/, const std::string& /*variant*/) {}
  virtual void finished() {}
};

}  // namespace harness
