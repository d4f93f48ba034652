// LibTorch's CPU allocator with counters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace harness::kernels {

/// Bytes of tensor storage, as the C library rounds them. LibTorch's private oneDNN and the C++
/// heap are not in it.
struct MemoryCounters {
  std::int64_t current_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< since the start or the last reset_peak_memory()
};

/// `system`: LibTorch's own allocator, untouched but for the counters.
std::vector<std::string> allocator_names();

/// Puts the named allocator behind LibTorch. Idempotent; tensors made before keep their memory and
/// stay uncounted, so call it first. Throws std::invalid_argument for an unknown name.
void use_allocator(const std::string& name);

MemoryCounters memory_counters();
/// The peak starts again from what is in use now.
void reset_peak_memory();

}  // namespace harness::kernels
