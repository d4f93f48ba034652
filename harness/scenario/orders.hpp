// Who tells a run of steps when to go on, in the place of its tier's numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "harness/scenario/observer.hpp"

namespace harness {

enum class OrderKind { kStep, kEvaluate, kFinish };

struct StepOrder {
  OrderKind kind = OrderKind::kStep;
  std::int64_t count = 1;  ///< of steps
};

/// What an order asks for is told to observers as in any run, so to this one.
class StepOrders : public Observer {
 public:
  /// Waits for the next one; called when the run is warmed up, and whenever an order is done.
  /// Throws Interrupted when nobody will give any more, Error for what is no order.
  virtual StepOrder next() = 0;
  /// Seconds on the clock that steps are timed by, since who gives orders may stop this process
  /// meanwhile; empty: the machine's.
  virtual std::function<double()> clock() const { return {}; }
  /// The run is over; `trouble` says what ended it before its time, empty for nothing.
  virtual void end(const std::string& trouble) = 0;
};

}  // namespace harness
