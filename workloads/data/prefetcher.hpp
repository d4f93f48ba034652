// Work done ahead of its consumer: decoding pictures while the model computes.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace harness::workloads {

/// How far a Prefetcher may run ahead.
struct PrefetchLimits {
  int threads = 2;
  std::size_t depth = 8;                       ///< results waiting or in work, at least 1
  std::size_t bytes = std::size_t{512} << 20;  ///< of results waiting; one in work a thread on top
};

/// Computes work(0), work(1), ... work(count - 1) in several threads and hands the results out in
/// that order, whatever the order they end in. An exception of work(i) is thrown by the i-th
/// next(). The destructor may run at any time; it waits only for the calls in progress.
template <typename T>
class Prefetcher {
 public:
  static constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max();

  /// `work` is called from many threads at once. `size_of` gives a result's bytes; without it the
  /// depth alone bounds the memory.
  Prefetcher(std::size_t count, std::function<T(std::size_t)> work, PrefetchLimits limits,
             std::function<std::size_t(const T&)> size_of = {})
      : count_(count), work_(std::move(work)), limits_(limits), size_of_(std::move(size_of)) {
    limits_.depth = std::max<std::size_t>(limits_.depth, 1);
    const int threads = std::max(limits_.threads, 1);
    threads_.reserve(static_cast<std::size_t>(threads));
    try {
      for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
    } catch (...) {
      if (threads_.empty()) throw;  // fewer threads than asked for still do it
    }
  }

  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The next result; empty after the last. Calls `interrupted` about ten times a second while it
  /// waits; what that throws passes through, and the result can still be had afterwards. For one
  /// consumer.
  std::optional<T> next(const std::function<void()>& interrupted = [] {}) {
    std::unique_lock lock(mutex_);
    if (delivered_ == count_) return std::nullopt;
    typename std::map<std::size_t, Slot>::iterator slot;
    while ((slot = ready_.find(delivered_)) == ready_.end()) {
      if (result_.wait_for(lock, std::chrono::milliseconds(100)) == std::cv_status::timeout) {
        lock.unlock();
        interrupted();
        lock.lock();
      }
    }
    Slot taken = std::move(slot->second);
    ready_.erase(slot);
    bytes_ -= taken.bytes;
    ++delivered_;
    lock.unlock();
    room_.notify_all();
    if (taken.failure) std::rethrow_exception(taken.failure);
    return std::move(taken.value);
  }

  /// Returns when nothing is in work and there is room for nothing more. Calls `interrupted` as
  /// next() does.
  void rest(const std::function<void()>& interrupted = [] {}) {
    std::unique_lock lock(mutex_);
    while (in_work_ > 0 || (started_ < count_ && may_start())) {
      if (result_.wait_for(lock, std::chrono::milliseconds(100)) == std::cv_status::timeout) {
        lock.unlock();
        interrupted();
        lock.lock();
      }
    }
  }

  /// Results that wait for the consumer now: 0 says that the consumer is faster.
  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return ready_.size();
  }

 private:
  struct Slot {
    std::optional<T> value{};
    std::exception_ptr failure{};
    std::size_t bytes = 0;
  };

  /// Nothing is asked for unless there is room, but the consumer's very next item always has room:
  /// it may be that everything else that is ready waits for it.
  bool may_start() const {
    if (started_ == delivered_) return true;
    return started_ - delivered_ < limits_.depth && bytes_ < limits_.bytes;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      room_.wait(lock, [this] { return stopping_ || started_ == count_ || may_start(); });
      if (stopping_ || started_ == count_) return;
      const std::size_t i = started_++;
      ++in_work_;
      lock.unlock();
      Slot slot;
      try {
        slot.value.emplace(work_(i));
        if (size_of_) slot.bytes = size_of_(*slot.value);
      } catch (...) {
        slot.value.reset();
        slot.failure = std::current_exception();
      }
      lock.lock();
      --in_work_;
      bytes_ += slot.bytes;
      ready_.emplace(i, std::move(slot));
      result_.notify_one();
    }
  }

  const std::size_t count_;
  const std::function<T(std::size_t)> work_;
  PrefetchLimits limits_;
  const std::function<std::size_t(const T&)> size_of_;
  mutable std::mutex mutex_;
  std::condition_variable room_;    ///< something was taken, or all is to end
  std::condition_variable result_;  ///< something is ready
  std::map<std::size_t, Slot> ready_;
  std::size_t started_ = 0;
  std::size_t in_work_ = 0;
  std::size_t delivered_ = 0;
  std::size_t bytes_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace harness::workloads
