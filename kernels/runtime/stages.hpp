// Where the time inside an operator goes: ConvBench's breakdown of a convolution.
#pragma once

#include <functional>

namespace harness::kernels {

/// By what stages are measured: a clock, in seconds, and where a stage's seconds go. Called from
/// any thread.
struct StageClock {
  std::function<double()> now{};
  std::function<void(const char* stage, double seconds)> add{};
};

/// Measures the stages of all kernels for as long as it lives; one at a time. LibTorch's own
/// kernels have none.
class MeasuredStages {
 public:
  explicit MeasuredStages(StageClock clock);
  ~MeasuredStages();
  MeasuredStages(const MeasuredStages&) = delete;
  MeasuredStages& operator=(const MeasuredStages&) = delete;

 private:
  StageClock clock_;
};

/// Adds its lifetime to a stage, where stages are measured: `pack` brings weights into a kernel's
/// order, `convolution` computes, `unpack` brings gradients back into the parameters'.
class Stage {
 public:
  explicit Stage(const char* name);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  const char* name_;
  const StageClock* clock_;  ///< null: nobody measures
  double start_ = 0;
};

}  // namespace harness::kernels
