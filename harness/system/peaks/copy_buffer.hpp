// Memory that a thread copies from and to, larger than the caches.
#pragma once

#include <cstddef>

namespace harness {

/// A pair of page-aligned regions walked in blocks, over and over. Not shared between threads.
class CopyBuffer {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

  CopyBuffer() = default;
  ~CopyBuffer();
  CopyBuffer(const CopyBuffer&) = delete;
  CopyBuffer& operator=(const CopyBuffer&) = delete;

  /// Reserves `bytes` (rounded up to blocks) for each direction and fills the source, on the
  /// calling thread so that the memory lies near it. False when the system gives no memory.
  bool allocate(std::size_t bytes);
  bool is_allocated() const { return from_ != nullptr; }

  /// Marks the next block, so that check() can tell whether it was really written.
  void poison();
  /// Copies the next block; returns the bytes read plus the bytes written.
  double copy_next();
  /// Whether the poisoned block now equals its source.
  bool check() const;

 private:
  unsigned char* from_ = nullptr;
  unsigned char* to_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t next_ = 0;
  std::size_t poisoned_ = 0;
};

}  // namespace harness
