// LibTorch's CPU allocators, with counters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace harness::kernels {

/// Bytes of tensor storage, as the allocator rounds them. LibTorch's private oneDNN and the C++
/// heap are not in it.
struct MemoryCounters {
  std::int64_t current_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< since the start or the last reset_peak_memory()
};

/// `pooled`: blocks of 64 KiB and more come from one of two MemoryPools and stay in it: those of a
/// KeptMemoryScope from a small one while it has room, all others from a large one. Both together
/// have at most half the machine's memory, or of a limit on the process's data. Smaller blocks, and
/// what no longer fits, come from `system`.
/// `system`: LibTorch's own allocator, untouched but for the counters.
std::vector<std::string> allocator_names();

/// Puts the named allocator behind LibTorch. Idempotent, and cheap to switch: a tensor goes back to
/// where it came from. Tensors made before the first call stay uncounted. Throws
/// std::invalid_argument for an unknown name.
void use_allocator(const std::string& name);

MemoryCounters memory_counters();
/// The peak starts again from what is in use now.
void reset_peak_memory();

/// Called after each change, in the thread that makes it, with the bytes taken (below 0: given
/// back) and those in use then; null: nobody.
using AllocationListener = void (*)(std::int64_t bytes, std::int64_t in_use_bytes);
void on_allocation(AllocationListener listener);

/// What this thread allocates while one lives is kept over steps, weights in another order say, or
/// was needed to make it. The pooled allocator puts it apart, so that what comes and goes finds the
/// same places in every step.
class KeptMemoryScope {
 public:
  KeptMemoryScope();
  ~KeptMemoryScope();
  KeptMemoryScope(const KeptMemoryScope&) = delete;
  KeptMemoryScope& operator=(const KeptMemoryScope&) = delete;

 private:
  bool outer_;
};

/// What the pools hold of the machine's memory at most, free blocks included; 0 before their first
/// use.
std::int64_t pool_bytes();
/// Gives the pages of the pools' free blocks back to the system.
void trim_pool();

}  // namespace harness::kernels
