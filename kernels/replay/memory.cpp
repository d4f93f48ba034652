#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <sstream>
#include <stdexcept>

#include "kernels/replay/replay.hpp"

namespace harness::kernels {
namespace {

constexpr std::size_t kPage = 4096;

// Two bfloat16 from 0.5 to 1 with a sign, which as one float32 is a number from 0.5 to 1 as well:
// neither infinite nor denormal, whatever reads them.
void fill(at::Tensor& words) {
  std::minstd_rand random(1);
  auto* begin = reinterpret_cast<std::uint32_t*>(words.data_ptr<std::int32_t>());
  constexpr std::int64_t kPattern = 65536 + 17;
  const std::int64_t pattern = std::min(kPattern, words.numel());
  for (std::int64_t i = 0; i < pattern; ++i) {
    const auto half = [&] {
      const auto bits = static_cast<std::uint32_t>(random());
      return 0x3F00U | (bits & 0x7FU) | ((bits & 0x80U) << 8);
    };
    begin[i] = half() << 16 | half();
  }
  for (std::int64_t i = pattern; i < words.numel(); ++i) begin[i] = begin[i - pattern];
}

}  // namespace

class ReplayMemory::Region {
 public:
  explicit Region(std::size_t beyond) : beyond_(beyond) {}

  void reserve(std::size_t bytes) {
    const std::size_t wanted = (bytes + beyond_ + kPage) / kPage * kPage;
    if (wanted <= size()) return;
    words_ = at::Tensor();  // given back before more is asked for
    words_ = at::empty({static_cast<std::int64_t>(wanted / 4)}, at::kInt);
    fill(words_);
    next_ = 0;
  }

  void* take(std::size_t bytes) {
    if (next_ + bytes > size()) next_ = 0;
    auto* const begin = static_cast<char*>(words_.data_ptr()) + next_;
    next_ += (bytes + kPage - 1) / kPage * kPage;
    return begin;
  }

 private:
  std::size_t size() const {
    return words_.defined() ? static_cast<std::size_t>(words_.numel()) * 4 : 0;
  }

  std::size_t beyond_;
  at::Tensor words_{};
  std::size_t next_ = 0;
};

ReplayMemory::ReplayMemory(std::size_t cache_bytes, std::size_t most_bytes)
    : most_bytes_(most_bytes),
      inputs_(std::make_unique<Region>(std::max(kLeastBytes, 2 * cache_bytes))),
      outputs_(std::make_unique<Region>(std::max(kLeastBytes, 2 * cache_bytes))) {}
ReplayMemory::~ReplayMemory() = default;

void ReplayMemory::check(std::size_t bytes) const {
  if (bytes <= most_bytes_) return;
  std::ostringstream text;
  text << "needs a tensor of " << (bytes >> 20) << " MiB, and " << (most_bytes_ >> 20)
       << " MiB can be given to one";
  throw std::invalid_argument(text.str());
}

void ReplayMemory::reserve(std::size_t bytes) {
  check(bytes);
  inputs_->reserve(bytes);
  outputs_->reserve(bytes);
}

void* ReplayMemory::input(std::size_t bytes) { return inputs_->take(bytes); }
void* ReplayMemory::output(std::size_t bytes) { return outputs_->take(bytes); }

}  // namespace harness::kernels
