#include "kernels/runtime/allocator.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <stdexcept>
#include <utility>

#include "kernels/runtime/memory_pool.hpp"

namespace harness::kernels {
namespace {

// The C library serves smaller blocks from a heap that it keeps; larger ones it may map and unmap.
constexpr std::size_t kSmallestPooled = std::size_t{64} << 10;

std::atomic<std::int64_t> current_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

// Two ranges. In one, kept blocks would land in other holes at each step, and passing ones would
// then need fresh pages, even steps later.
enum Range : std::size_t { kPassing, kKept };
std::array<std::atomic<MemoryPool*>, 2> pools_in_use{};
thread_local bool keeping = false;

std::atomic<AllocationListener> allocation_listener{nullptr};

void count(std::int64_t bytes) {
  const std::int64_t now = current_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  const AllocationListener listener = allocation_listener.load(std::memory_order_relaxed);
  if (listener != nullptr) listener(bytes, now);
}

// The size comes back from the C library on release, so no header is put before the data and no
// table is kept: alignment, fresh pages and reuse stay what they are without counting.
class SystemAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = raw_allocate_or_throw(size);
    if (data != nullptr) count(static_cast<std::int64_t>(malloc_usable_size(data)));
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* target, const void* source, std::size_t size) const override {
    default_copy_data(target, source, size);
  }

 private:
  // What the pool keeps for later may be what is missing now.
  static void* raw_allocate_or_throw(size_t size) {
    for (const bool again : {true, false}) {
      try {
        return base()->raw_allocate(size);
      } catch (const c10::Error&) {
        if (!again) break;
        trim_pool();
      }
    }
    throw std::bad_alloc();
  }
  static c10::Allocator* base() { return c10::GetDefaultCPUAllocator(); }
  static void release(void* data) {
    if (data == nullptr) return;
    count(-static_cast<std::int64_t>(malloc_usable_size(data)));
    base()->raw_deallocate(data);
  }
};

SystemAllocator& system_allocator() {
  // Never destroyed, as the pool: tensors in static storage may outlive it.
  static auto* const allocator = new SystemAllocator();
  return *allocator;
}

/// Bytes that this process may have. What is reserved counts towards the limit on its data as if it
/// were used.
std::size_t most_memory() {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  const std::size_t physical = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  rlimit data{};
  const bool limited = getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY;
  return limited ? std::min(physical, static_cast<std::size_t>(data.rlim_cur)) : physical;
}

// Tensors in static storage give their memory back after main(): a pool is never destroyed.
MemoryPool* start_pool(Range range, std::size_t capacity_bytes) {
  auto* const made = new MemoryPool(capacity_bytes);
  pools_in_use[range] = made;
  return made;
}

MemoryPool& pool(Range range) {
  // An eighth of both together for what is kept, or of what the system granted.
  static MemoryPool* const passing = start_pool(kPassing, most_memory() / 16 * 7);
  if (range == kPassing) return *passing;
  static MemoryPool* const kept = start_pool(kKept, passing->capacity() / 7);
  return *kept;
}

/// The pool that `data` is from; null: none.
MemoryPool* owner_of(const void* data) {
  for (MemoryPool* const one : pools_in_use) {
    if (one != nullptr && one->owns(data)) return one;
  }
  return nullptr;
}

class PooledAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    if (size < kSmallestPooled) return system_allocator().allocate(size);
    void* data = keeping ? pool(kKept).allocate(size) : nullptr;
    if (data == nullptr) data = pool(kPassing).allocate(size);
    if (data == nullptr) return system_allocator().allocate(size);
    count(static_cast<std::int64_t>(owner_of(data)->size_of(data)));
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* target, const void* source, std::size_t size) const override {
    default_copy_data(target, source, size);
  }

 private:
  static void release(void* data) {
    if (MemoryPool* const owner = owner_of(data)) {
      count(-static_cast<std::int64_t>(owner->size_of(data)));
      owner->release(data);
    } else {
      system_allocator().raw_deleter()(data);
    }
  }
};

}  // namespace

std::vector<std::string> allocator_names() { return {"pooled", "system"}; }

void use_allocator(const std::string& name) {
  static PooledAllocator pooled;
  if (name == "pooled") {
    c10::SetCPUAllocator(&pooled);
  } else if (name == "system") {
    c10::SetCPUAllocator(&system_allocator());
  } else {
    throw std::invalid_argument("no allocator '" + name + "'; known: pooled, system");
  }
}

MemoryCounters memory_counters() {
  return {current_bytes.load(std::memory_order_relaxed),
          peak_bytes.load(std::memory_order_relaxed)};
}

void reset_peak_memory() {
  peak_bytes.store(current_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void on_allocation(AllocationListener listener) { allocation_listener = listener; }

std::int64_t pool_bytes() {
  std::size_t bytes = 0;
  for (const MemoryPool* const one : pools_in_use) {
    if (one != nullptr) bytes += one->high_water_bytes();
  }
  return static_cast<std::int64_t>(bytes);
}

void trim_pool() {
  for (MemoryPool* const one : pools_in_use) {
    if (one != nullptr) one->trim();
  }
}

KeptMemoryScope::KeptMemoryScope() : outer_(std::exchange(keeping, true)) {}
KeptMemoryScope::~KeptMemoryScope() { keeping = outer_; }

}  // namespace harness::kernels
