#include "harness/run/interrupt.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "harness/base/error.hpp"

namespace harness {
namespace {

volatile sig_atomic_t requested = 0;

volatile sig_atomic_t group = 0;

void on_signal(int /*signal*/) {
  // Only async-signal-safe calls here.
  if (requested != 0) {
    if (group > 0) ::kill(-group, SIGKILL);
    ::_exit(static_cast<int>(ExitCode::kAborted));
  }
  requested = 1;
  constexpr std::string_view kMessage =
      "\nharness: stopping after the current step; once more to stop at once\n";
  [[maybe_unused]] const ssize_t ignored = ::write(2, kMessage.data(), kMessage.size());
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // Restart, so that reads and writes in libraries are not cut short.
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool interrupt_requested() { return requested != 0; }

void end_with_us(int process_group) { group = process_group; }

void cool_down(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    if (interrupt_requested()) throw Interrupted();
    const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
    if (left.count() <= 0) return;
    std::this_thread::sleep_for(std::min(left, std::chrono::duration<double>(0.1)));
  }
}

}  // namespace harness
