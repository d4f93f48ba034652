// Primitives run in isolation, for `harness project`. A workload that can be looked into gives one
// that knows the primitives it runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "harness/base/recording.hpp"

namespace harness {

/// Of the memory that replays read and write.
struct ReplaySizes {
  std::size_t cache_bytes = 0;  ///< of all last-level caches; 0 when unknown
  std::size_t most_bytes = 0;   ///< for each tensor; a primitive with a larger one is refused
};

/// One primitive, ready to run.
class PreparedPrimitive {
 public:
  virtual ~PreparedPrimitive() = default;
  /// Puts what it reads and writes out of the caches. Untimed; before each run, and with no other
  /// primitive prepared in between.
  virtual void chill() = 0;
  /// Runs it once and waits for its end.
  virtual void run() = 0;
  /// What runs: "brgconv:avx512_core".
  virtual std::string implementation() const = 0;
};

class Replayer {
 public:
  virtual ~Replayer() = default;
  /// Of `library` as the profile names it: "oneDNN 3.12.0", or "harness" for kernels of our own.
  /// The replayer outlives what it gives. Throws Error for a primitive that it cannot run.
  virtual std::unique_ptr<PreparedPrimitive> prepare(const Primitive& primitive,
                                                     const std::string& library) = 0;
  /// What it runs primitives with: "oneDNN 3.2.0".
  virtual std::string library() const = 0;
};

}  // namespace harness
