#include "kernels/runtime/memory_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>

namespace harness::kernels {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSmallestRange = std::size_t{64} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

MemoryPool::MemoryPool(std::size_t capacity_bytes) {
  for (std::size_t wanted = capacity_bytes / kHugePage * kHugePage; wanted >= kSmallestRange;
       wanted = wanted / 2 / kHugePage * kHugePage) {
    mapped_ = wanted + kHugePage;  // room to start at a huge page's border
    void* range = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    mapping_ = range;
    capacity_ = wanted;
    const auto address = reinterpret_cast<std::uintptr_t>(range);
    base_ = static_cast<char*>(range) + (round_up(address, kHugePage) - address);
    madvise(base_, capacity_, MADV_HUGEPAGE);  // advice: without it, ordinary pages
    insert_free(0, capacity_);
    return;
  }
}

MemoryPool::~MemoryPool() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

void MemoryPool::insert_free(Offset offset, std::size_t size) {
  blocks_[offset] = {size, true};
  free_.emplace(size, offset);
}

void MemoryPool::erase_free(Blocks::iterator block) {
  free_.erase({block->second.size, block->first});
  blocks_.erase(block);
}

MemoryPool::Offset MemoryPool::offset_of(const void* block) const {
  return static_cast<std::size_t>(static_cast<const char*>(block) - base_);
}

void* MemoryPool::allocate(std::size_t bytes) {
  if (bytes > capacity_) return nullptr;
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  const std::lock_guard<std::mutex> lock(mutex_);
  // The smallest that is large enough, and of these the one at the lowest address: the end of the
  // range stays untouched for as long as it can.
  const auto found = free_.lower_bound({size, 0});
  if (found == free_.end()) return nullptr;
  const auto [available, offset] = *found;
  erase_free(blocks_.find(offset));
  blocks_[offset] = {size, false};
  if (available > size) insert_free(offset + size, available - size);
  high_water_ = std::max(high_water_, offset + size);
  return base_ + offset;
}

void MemoryPool::release(void* block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Offset offset = offset_of(block);
  const auto found = blocks_.find(offset);
  if (found == blocks_.end() || found->second.free) {
    throw std::logic_error("a block was given back that the pool has not handed out");
  }
  std::size_t size = found->second.size;
  const auto next = std::next(found);
  if (next != blocks_.end() && next->second.free) {
    size += next->second.size;
    erase_free(next);
  }
  if (found != blocks_.begin()) {
    const auto previous = std::prev(found);
    if (previous->second.free) {
      offset = previous->first;
      size += previous->second.size;
      erase_free(previous);
    }
  }
  blocks_.erase(found);
  insert_free(offset, size);
}

bool MemoryPool::owns(const void* address) const {
  const char* place = static_cast<const char*>(address);
  return base_ != nullptr && place >= base_ && place < base_ + capacity_;
}

std::size_t MemoryPool::size_of(const void* block) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return blocks_.at(offset_of(block)).size;
}

void MemoryPool::trim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  high_water_ = 0;
  for (const auto& [offset, block] : blocks_) {
    if (!block.free) {
      high_water_ = offset + block.size;
    } else {
      // Whole pages inside the block; the kernel would round the range outwards.
      const std::size_t begin = round_up(offset, 4096);
      const std::size_t end = (offset + block.size) / 4096 * 4096;
      if (end > begin) madvise(base_ + begin, end - begin, MADV_DONTNEED);
    }
  }
}

std::size_t MemoryPool::high_water_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return high_water_;
}

}  // namespace harness::kernels
