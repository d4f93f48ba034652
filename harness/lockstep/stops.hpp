// For how long a side was stopped: its parent counts that in memory that both see, so that the
// side's own clock can leave it out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace harness {

/// The parent's end, of one side.
class StopsTold {
 public:
  /// Throws Error where there is no such memory to be had.
  StopsTold();
  ~StopsTold();
  StopsTold(const StopsTold&) = delete;
  StopsTold& operator=(const StopsTold&) = delete;

  /// For the environment of the side, which finds the memory by it while this lives.
  std::pair<std::string, std::string> variable() const;
  void add(double seconds);

 private:
  int file_ = -1;
  std::atomic<std::uint64_t>* nanoseconds_ = nullptr;
};

/// The side's end: the seconds for which this process was stopped, so far. Empty where no parent
/// tells. The variable is taken out of the environment, since it does not mean what this process
/// starts.
std::function<double()> stops_heard();

}  // namespace harness
