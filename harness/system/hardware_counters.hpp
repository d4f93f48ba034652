// What the processor itself counts while this process works: cycles, instructions, misses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace harness {

/// Counts in user mode, over all threads that the process has when counting starts, and those that
/// they start. Where the kernel gives fewer counters than are asked for at once, it shares them in
/// turns, and counts are scaled to the whole time.
class HardwareCounters {
 public:
  /// The kinds of events of perf_event_open(2) to count, by name.
  using Events = std::vector<std::pair<std::string, std::pair<std::uint32_t, std::uint64_t>>>;

  HardwareCounters();  ///< cycles, instructions, cache_references, cache_misses, branch_misses
  explicit HardwareCounters(Events events);
  ~HardwareCounters();
  HardwareCounters(const HardwareCounters&) = delete;
  HardwareCounters& operator=(const HardwareCounters&) = delete;

  void start();
  /// Adds what was counted since start(). An event that one of the threads did not get is left out:
  /// its count would be too low.
  void stop();
  /// Takes back what the last stop() added.
  void forget_last();

  /// Sums over all stretches; only of events that this machine counts.
  const std::map<std::string, double>& sums() const { return sums_; }
  /// Why nothing could be counted, in words for people; empty where anything was, or before the
  /// first start().
  const std::string& reason() const { return reason_; }

 private:
  void open();
  void close();

  Events events_;
  std::map<std::string, std::vector<int>> files_{};  ///< by event, one of each thread
  std::map<std::string, double> sums_{}, last_{};
  std::string reason_{};
};

}  // namespace harness
