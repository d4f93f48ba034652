#include "kernels/runtime/allocator.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <malloc.h>

#include <atomic>
#include <stdexcept>

namespace harness::kernels {
namespace {

std::atomic<std::int64_t> current_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

void count(std::int64_t bytes) {
  const std::int64_t now = current_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

// The size comes back from the C library on release, so no header is put before the data and no
// table is kept: alignment, fresh pages and reuse stay what they are without counting.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = base()->raw_allocate(size);
    if (data != nullptr) count(static_cast<std::int64_t>(malloc_usable_size(data)));
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* target, const void* source, std::size_t size) const override {
    default_copy_data(target, source, size);
  }

 private:
  static c10::Allocator* base() { return c10::GetDefaultCPUAllocator(); }
  static void release(void* data) {
    if (data == nullptr) return;
    count(-static_cast<std::int64_t>(malloc_usable_size(data)));
    base()->raw_deallocate(data);
  }
};

}  // namespace

std::vector<std::string> allocator_names() { return {"system"}; }

void use_allocator(const std::string& name) {
  if (name != "system") {
    throw std::invalid_argument("no allocator '" + name + "'; known: system");
  }
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator);
}

MemoryCounters memory_counters() {
  return {current_bytes.load(std::memory_order_relaxed),
          peak_bytes.load(std::memory_order_relaxed)};
}

void reset_peak_memory() {
  peak_bytes.store(current_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace harness::kernels
