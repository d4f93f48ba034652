// Where the rows of a product are read.
#pragma once

#include <cstdint>

namespace harness::kernels::products {

/// A pointer to every third of kR rows: those between lie one and two lengths of a row on, which an
/// address can say. A compiler that knows how the rows lie keeps an offset for each of them, has no
/// registers left, and moves sums to memory and back for every product.
template <int kR, class T>
class RowPointers {
 public:
  RowPointers(const T* first, std::int64_t length) : length_(length) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      thirds_[i] = first + length * 3 * i;
      asm("" : "+r"(thirds_[i]));  // what it is made of is not known beyond
    }
  }

  /// Row 0 to kR - 1.
  const T* of(int row) const { return thirds_[row / 3] + row % 3 * length_; }

  void advance(int count) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) thirds_[i] += count;
  }

 private:
  static constexpr int kCount = (kR + 2) / 3;

  const T* thirds_[kCount];
  std::int64_t length_;
};

}  // namespace harness::kernels::products
