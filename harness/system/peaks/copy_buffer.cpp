#include "harness/system/peaks/copy_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "harness/system/peaks/highway.hpp"
#include "harness/system/peaks/kernels.hpp"

namespace harness {

CopyBuffer::~CopyBuffer() {
  if (from_ != nullptr) ::munmap(from_, 2 * bytes_);
}

bool CopyBuffer::allocate(std::size_t bytes) {
  const std::size_t blocks = std::max<std::size_t>(2, (bytes + kBlockBytes - 1) / kBlockBytes);
  const std::size_t rounded = blocks * kBlockBytes;
  void* memory =
      ::mmap(nullptr, 2 * rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Without huge pages the page table walks are measured as well. Advice only: failing is fine.
  ::madvise(memory, 2 * rounded, MADV_HUGEPAGE);
  from_ = static_cast<unsigned char*>(memory);
  to_ = from_ + rounded;
  bytes_ = rounded;
  auto* words = reinterpret_cast<std::uint64_t*>(from_);
  for (std::size_t i = 0; i < bytes_ / sizeof(std::uint64_t); ++i) {
    words[i] = i * 0x9E3779B97F4A7C15ULL;
  }
  std::memset(to_, 0, bytes_);
  return true;
}

void CopyBuffer::poison() {
  poisoned_ = next_;
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    to_[poisoned_ + i] = static_cast<unsigned char>(~from_[poisoned_ + i]);
  }
}

double CopyBuffer::copy_next() {
  stream_copy(from_ + next_, to_ + next_, kBlockBytes);
  next_ += kBlockBytes;
  if (next_ == bytes_) next_ = 0;
  return 2.0 * static_cast<double>(kBlockBytes);
}

bool CopyBuffer::check() const {
  return std::memcmp(from_ + poisoned_, to_ + poisoned_, kBlockBytes) == 0;
}

}  // namespace harness
