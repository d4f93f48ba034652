// What a model of somebody else's may not do to the run: take for ever, or end the process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace harness::workloads {

class Guard {
 public:
  using GiveUp = std::function<void(const std::string& what)>;

  /// `give_up` is called, with a line that begins with `name`, when a call takes longer than it may
  /// or the process ends inside of one; it does not return. `clock`: seconds that this process had,
  /// from any thread.
  Guard(std::string name, GiveUp give_up, std::function<double()> clock);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// While it lives the model runs. One at a time. `late`: what is wrong when it takes longer; how
  /// long that is follows.
  class Call {
   public:
    Call(Guard& guard, double most_seconds, const char* late);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Guard& guard_;
  };

 private:
  void watch();
  static void at_exit();

  std::string name_;
  GiveUp give_up_;
  std::function<double()> clock_;
  std::atomic<double> until_ = 0;  ///< on that clock; 0: the model is not running
  std::atomic<double> most_ = 0;
  std::atomic<const char*> late_ = "";
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread watcher_;
};

}  // namespace harness::workloads
