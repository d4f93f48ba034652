// Memory that is taken from the system once and then used again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace harness::kernels {

/// One reserved range of addresses, handed out best fit first. Blocks that come back merge with
/// their free neighbours and keep their pages, so a training step, which asks for the same
/// gigabytes each time, faults each page once in a run instead of once a step (the kernel
/// clears 2.97 GiB a step otherwise). Huge pages are asked for: a step walks through more memory
/// than any TLB reaches. Thread-safe.
class MemoryPool {
 public:
  /// Reserves addresses, not memory; takes less when the system refuses that many (a limit on
  /// address space, strict overcommit), possibly none at all.
  explicit MemoryPool(std::size_t capacity_bytes);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// A block of at least `bytes` (> 0), aligned to kAlignment; null when none that large is free.
  void* allocate(std::size_t bytes);
  /// Takes back a block of this pool.
  void release(void* block);
  bool owns(const void* address) const;
  /// The size that allocate() gave the block.
  std::size_t size_of(const void* block) const;
  /// Gives the pages of all free blocks back to the system; the next use faults them in again.
  void trim();

  std::size_t capacity() const { return capacity_; }
  /// Bytes from the start of the range to the highest byte handed out since the last trim(): an
  /// upper bound of what the pool holds of the machine's memory.
  std::size_t high_water_bytes() const;

  static constexpr std::size_t kAlignment = 256;

 private:
  using Offset = std::size_t;
  struct Block {
    std::size_t size;
    bool free;
  };
  using Blocks = std::map<Offset, Block>;

  void insert_free(Offset offset, std::size_t size);
  void erase_free(Blocks::iterator block);
  Offset offset_of(const void* block) const;

  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  char* base_ = nullptr;
  std::size_t capacity_ = 0;
  mutable std::mutex mutex_;
  Blocks blocks_;                                  ///< all of the range, by place
  std::set<std::pair<std::size_t, Offset>> free_;  ///< the free ones, by size, then place
  std::size_t high_water_ = 0;
};

}  // namespace harness::kernels
