#include "workloads/model/guard.hpp"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

// Late by so much at most: nobody measures these.
constexpr std::chrono::milliseconds kBetweenLooks{200};

std::atomic<Guard*> inside = nullptr;

double now() { return std::chrono::duration<double>(Steady::now().time_since_epoch()).count(); }

}  // namespace

void Guard::at_exit() {
  if (const Guard* const guard = inside) guard->give_up_(guard->name_ + ": it ended the process");
}

Guard::Guard(std::string name, GiveUp give_up)
    : name_(std::move(name)), give_up_(std::move(give_up)), watcher_([this] { watch(); }) {
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
  while (!ended_.wait_for(lock, kBetweenLooks, [this] { return end_; })) {
    const double until = until_;
    if (until == 0 || now() < until) continue;
    give_up_(name_ + ": " + late_.load() + " " + format_quantity(most_, "s"));
  }
}

Guard::Call::Call(Guard& guard, double most_seconds, const char* late) : guard_(guard) {
  guard.late_ = late;
  guard.most_ = most_seconds;
  guard.until_ = now() + most_seconds;
  inside = &guard;
}

Guard::Call::~Call() {
  inside = nullptr;
  guard_.until_ = 0;
}

}  // namespace harness::workloads
