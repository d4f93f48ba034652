// What an engine for ranks has to do: it carries bytes from each rank to each other one.
#pragma once

#include <cstdint>
#include <string>

namespace harness::workloads {

/// One rank's end of it. One thread at a time calls it, the same calls in the same order on all
/// ranks; hang_up() comes at any time. Throws LostRank where another rank is gone.
class Wire {
 public:
  virtual ~Wire() = default;

  /// Its name and version.
  virtual std::string engine() const = 0;
  /// Part r of `mine` goes to rank r, and part r of `all` comes from it: parts of `bytes`, one
  /// behind the other, one for each rank, ourselves too. The two do not overlap.
  virtual void exchange(const void* mine, void* all, std::int64_t bytes) = 0;
  /// Adds up `values` over the ranks, in place, where the engine has a way of its own to do so that
  /// gives the sum in the order of the ranks. False: it has none, and did nothing.
  virtual bool add_up(float* /*values*/, std::int64_t /*count*/) { return false; }
  /// As Ranks::hang_up().
  virtual void hang_up() noexcept = 0;
};

}  // namespace harness::workloads
