// This process as one of several that share a run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/measure/measure.hpp"
#include "harness/measure/ranks/hang_up.hpp"
#include "harness/plan/plan.hpp"
#include "harness/result/result.hpp"
#include "harness/scenario/scenario.hpp"

namespace harness {

/// Where the task is one for a rank, the plan's context has the others for as long as this lives.
/// Elsewhere it does nothing.
class RankOfRun : public Observer {
 public:
  /// Waits until all ranks are there. Throws Error where one of them is of another build or has
  /// another plan.
  RankOfRun(RunPlan& plan, const MeasureTask& task);
  ~RankOfRun() override;
  RankOfRun(const RankOfRun&) = delete;
  RankOfRun& operator=(const RankOfRun&) = delete;

  void step(const StepRecord& record) override;
  /// Has the ranks' data held against each other.
  void attach(SessionHooks& hooks) const;
  /// What this rank has to say of itself.
  void report(Result& result, const RunRecord& record) const;

 private:
  RunPlan& plan_;
  std::unique_ptr<Ranks> ranks_;
  std::optional<HangUpOnSignal> hang_up_{};
  // Of the timed steps.
  std::vector<double> own_{};
  std::vector<double> waited_{};
  std::vector<double> summed_{};
};

}  // namespace harness
