// Orders for several ranks as one side in lockstep: the first one hears and answers.
#pragma once

#include <string>

#include "harness/plan/plan.hpp"
#include "harness/scenario/orders.hpp"

namespace harness {

class SharedOrders : public StepOrders {
 public:
  /// `lead` hears the orders in the first rank, and is null in the others. While orders are asked
  /// for, `plan` has the ranks. Both outlive this.
  SharedOrders(const RunPlan& plan, StepOrders* lead) : plan_(plan), lead_(lead) {}

  /// On all ranks the same. Throws on all where the first one does.
  StepOrder next() override;
  void step(const StepRecord& record) override;
  void evaluated(const Quality& quality, const EvaluationPoint& at) override;
  void end(const std::string& trouble) override;

 private:
  const RunPlan& plan_;
  StepOrders* lead_;
};

}  // namespace harness
