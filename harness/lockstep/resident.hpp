// This process as a resident side: it steps when its parent says so (docs/lockstep.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "harness/lockstep/line_channel.hpp"
#include "harness/lockstep/protocol.hpp"
#include "harness/scenario/orders.hpp"
#include "harness/scenario/step_timer.hpp"

namespace harness {

/// What tells a resident side which standard output its parent gave it. A pipe behind the side, or
/// a redirection, would take its words, and the parent would wait for them in vain.
std::pair<std::string, std::string> output_variable(int output);

/// Hears orders on standard input, and answers on what standard output was before: whatever else
/// prints there goes to standard error from now on.
class Resident : public StepOrders {
 public:
  /// Throws Error where there are no such streams, or output_variable() names another output.
  explicit Resident(SideHello hello);

  /// Answers an evaluation before (says hello, the first time) and waits.
  StepOrder next() override;
  /// Stands still while the parent has this process stopped.
  Clock clock() const override;
  void step(const StepRecord& record) override;
  void evaluated(const Quality& quality, const EvaluationPoint& at) override;

  /// Answers what is not answered yet, with `trouble` where the run failed; a loss that is not
  /// finite was told with its step.
  void end(const std::string& trouble) override;

 private:
  void answer();

  std::function<double()> stopped_;
  SideHello hello_;
  LineChannel channel_;
  bool greeted_ = false;
  std::optional<StepOrder> order_{};  ///< not answered yet
  TurnAnswer steps_{};                ///< of it, so far
  bool diverged_ = false;
  std::optional<Quality> quality_{};
};

}  // namespace harness
