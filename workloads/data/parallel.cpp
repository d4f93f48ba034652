#include "workloads/data/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace harness::workloads {
namespace {

/// What the threads share; ends them when it goes out of scope, whatever the reason.
class Crew {
 public:
  Crew(std::size_t count, const std::function<void(std::size_t)>& work)
      : count_(count), work_(work) {}

  ~Crew() {
    next_ = count_;
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void start(std::size_t threads) {
    threads_.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) {
      {
        const std::lock_guard lock(mutex_);
        ++running_;
      }
      try {
        threads_.emplace_back([this] { run(); });
      } catch (...) {  // no more threads to be had: the ones there do it, if there are any
        const std::lock_guard lock(mutex_);
        --running_;
        if (threads_.empty()) throw;
        return;
      }
    }
  }

  /// True once all threads have ended.
  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, time, [this] { return running_ == 0; });
  }

  std::size_t done() const { return done_; }

  void rethrow() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        work_(i);
        ++done_;
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (i < failed_at_) {
          failed_at_ = i;
          failure_ = std::current_exception();
        }
        next_ = count_;
      }
    }
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) ended_.notify_all();
  }

  std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
  std::size_t failed_at_ = std::numeric_limits<std::size_t>::max();
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace

void parallel_for(std::size_t count, const std::string& what, const Preparation& preparation,
                  const std::function<void(std::size_t)>& work) {
  const auto total = static_cast<std::int64_t>(count);
  preparation.interrupted();
  preparation.progress(what, 0, total);
  {
    Crew crew(count, work);
    crew.start(std::clamp<std::size_t>(static_cast<std::size_t>(std::max(preparation.threads, 1)),
                                       1, std::max<std::size_t>(count, 1)));
    while (!crew.wait(std::chrono::milliseconds(100))) {
      preparation.interrupted();
      preparation.progress(what, static_cast<std::int64_t>(crew.done()), total);
    }
    crew.rethrow();
  }
  preparation.progress(what, total, total);
}

}  // namespace harness::workloads
