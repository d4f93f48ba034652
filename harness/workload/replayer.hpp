// Primitives run in isolation, for `harness project`. A workload that can be looked into gives one
// that knows the primitives it runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "harness/profile/primitive.hpp"

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
  /// Runs it once with data that is in no cache; seconds.
  virtual double run() = 0;
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
