#include "harness/measure/ranks/hang_up.hpp"

#include <atomic>
#include <cerrno>

namespace harness {
namespace {

std::atomic<Ranks*> hung_up_by_signal{nullptr};

void hang_up_now(int /*signal*/) {
  const int interrupted = errno;
  if (Ranks* ranks = hung_up_by_signal.load()) ranks->hang_up();
  errno = interrupted;
}

}  // namespace

HangUpOnSignal::HangUpOnSignal(Ranks& ranks) {
  hung_up_by_signal = &ranks;
  struct sigaction action {};
  action.sa_handler = hang_up_now;
  action.sa_flags = SA_RESTART;
  ::sigaction(kHangUpSignal, &action, nullptr);
}

HangUpOnSignal::~HangUpOnSignal() {
  ignore_hang_up();
  hung_up_by_signal = nullptr;
}

void ignore_hang_up() { ::signal(kHangUpSignal, SIG_IGN); }

}  // namespace harness
