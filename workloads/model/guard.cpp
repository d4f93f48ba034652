#include "workloads/model/guard.hpp"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

// Late by so much at most: nobody measures these.
constexpr std::chrono::milliseconds kBetweenLooks{200};

std::atomic<Guard*> inside = nullptr;

}  // namespace

void Guard::at_exit() {
  if (const Guard* const guard = inside) guard->give_up_(guard->name_ + ": it ended the process");
}

Guard::Guard(std::string name, GiveUp give_up, std::function<double()> clock)
    : name_(std::move(name)),
      give_up_(std::move(give_up)),
      clock_(std::move(clock)),
      watcher_([this] { watch(); }) {
  static const int registered = std::atexit(at_exit);
  (void)registered;
}

Guard::~Guard() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  watcher_.join();
}

void Guard::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  double late_until = 0;  // at the look before
  while (!ended_.wait_for(lock, kBetweenLooks, [this] { return end_; })) {
    const double until = until_;
    const bool late = until != 0 && clock_() >= until;
    // Twice, since a stop is told a little after its end.
    const bool twice = late && until == late_until;
    late_until = late ? until : 0;
    if (!twice) continue;
    give_up_(name_ + ": " + late_.load() + " " + format_quantity(most_, "s"));
  }
}

Guard::Call::Call(Guard& guard, double most_seconds, const char* late) : guard_(guard) {
  guard.late_ = late;
  guard.most_ = most_seconds;
  guard.until_ = guard.clock_() + most_seconds;
  inside = &guard;
}

Guard::Call::~Call() {
  inside = nullptr;
  guard_.until_ = 0;
}

}  // namespace harness::workloads
