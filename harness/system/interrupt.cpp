#include "harness/system/interrupt.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

volatile sig_atomic_t requested = 0;

constexpr std::size_t kMostText = 5000;  // a path has 4096 bytes at most

// A handler may come at any moment: it reads no text that is half written.
std::atomic<const char*> words = "stopping as soon as possible";
constexpr const char* kBehindKeys = "\nharness: ";  // the terminal shows ^C
constexpr const char* kLeft = "; what was measured is in ";
std::array<char, kMostText> samples_left_text{};
std::atomic<bool> samples_left = false;
static_assert(std::atomic<const char*>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

/// One line by one write, so that it stays whole beside what others write.
void say(std::initializer_list<std::string_view> parts) {
  std::array<char, 2 * kMostText> line{};
  std::size_t size = 0;
  for (const std::string_view part : parts) {
    for (const char c : part) {
      if (size + 1 < line.size()) line[size++] = c;
    }
  }
  line[size++] = '\n';
  [[maybe_unused]] const ssize_t ignored = ::write(2, line.data(), size);
}

void on_signal(int /*signal*/) {
  // Only async-signal-safe calls here.
  if (requested != 0) {
    if (samples_left) say({kBehindKeys, "stopped at once", kLeft, samples_left_text.data()});
    ::_exit(static_cast<int>(ExitCode::kAborted));
  }
  requested = 1;
  if (const char* now = words) say({kBehindKeys, now, "; once more to stop at once"});
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // Restart, so that reads and writes in libraries are not cut short.
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction inherited {};
    sigaction(signal, nullptr, &inherited);
    // Whoever started us with a signal ignored (nohup, a shell's background job) wants it so.
    if (inherited.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

void stop_at_once(const std::string& what) {
  const std::string line = "harness: " + what;
  if (!samples_left) {
    say({line});
    ::_exit(static_cast<int>(ExitCode::kUsage));
  }
  say({line, kLeft, samples_left_text.data()});
  ::_exit(static_cast<int>(ExitCode::kAborted));
}

bool interrupt_requested() { return requested != 0; }

StopMessage::StopMessage(const char* text) : before_(words.exchange(text)) {}
StopMessage::~StopMessage() { words = before_; }
void StopMessage::change(const char* text) { words = text; }

void name_samples_left(const std::filesystem::path& samples) {
  samples_left = false;
  const std::string text = printable(samples.string(), kMostText).substr(0, kMostText - 1);
  *std::copy(text.begin(), text.end(), samples_left_text.begin()) = '\0';
  samples_left = true;
}

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
