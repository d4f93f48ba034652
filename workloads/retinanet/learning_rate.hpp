// The learning rate along a training.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace harness::workloads {

/// How the learning rate goes on after a linear warm-up.
enum class Schedule {
  kConstant,  ///< MLPerf's
  kCosine,    ///< down to zero at the end of the last epoch; constant where no epochs are planned
};

/// Share of the rate that the warm-up starts from: MLPerf's reference.
inline constexpr double kWarmupFactor = 1e-3;

struct LearningRate {
  Schedule schedule = Schedule::kConstant;
  double base = 0;          ///< after the warm-up
  double warmup_steps = 0;  ///< need not be whole
  double total_steps = 0;   ///< of the training as planned; 0: not known

  /// Of the step that `done` steps were taken before.
  double at(std::int64_t done) const {
    const auto step = static_cast<double>(done);
    if (step < warmup_steps) {
      const double share = step / warmup_steps;
      return base * (kWarmupFactor * (1 - share) + share);
    }
    if (schedule == Schedule::kConstant || total_steps <= warmup_steps) return base;
    const double share = std::min(1.0, (step - warmup_steps) / (total_steps - warmup_steps));
    return base * 0.5 * (1 + std::cos(std::numbers::pi * share));
  }
};

}  // namespace harness::workloads
