// How the process that started a rank has it end what it says to the others: one of them is lost,
// and does not say so itself (a machine without power, a network in two parts).
#pragma once

#include <signal.h>

#include "harness/workload/ranks.hpp"

namespace harness {

/// Ignored by the processes that start ranks, so that a rank which does not listen yet survives it.
inline constexpr int kHangUpSignal = SIGUSR1;

/// For as long as this lives the signal hangs `ranks` up. One at a time.
class HangUpOnSignal {
 public:
  explicit HangUpOnSignal(Ranks& ranks);
  ~HangUpOnSignal();
  HangUpOnSignal(const HangUpOnSignal&) = delete;
  HangUpOnSignal& operator=(const HangUpOnSignal&) = delete;
};

/// Before a rank is started: it inherits that the signal is ignored.
void ignore_hang_up();

}  // namespace harness
