// What one thread does of outer products: rows packed by vectors, and a block of sums.
#pragma once

#include <cstdint>

#include "kernels/products/outer_products.hpp"

namespace harness::kernels::outer {

struct Range {
  std::int64_t begin = 0, end = 0;
};

/// Some rows, from `first` on: [vector of columns][row][lane], filled up with 0.
struct PackedRows {
  float* values = nullptr;
  std::int64_t first = 0, count = 0;
  std::int64_t vector = 0;  ///< floats from one vector to the next
};

/// How sums of some rows go into the result.
struct Part {
  bool add = false;   ///< to what is there
  bool last = false;  ///< to be scaled
};

struct Cut {
  std::int64_t lanes = 1;
  std::int64_t panel = 1;      ///< most vectors on the right of a block
  std::int64_t most_rows = 1;  ///< of a part: a panel stays in a level-1 cache
  void (*pack_left)(const OuterProducts& products, Range rows, const PackedRows& to) = nullptr;
  void (*pack_right)(const OuterProducts& products, Range rows, const PackedRows& to) = nullptr;
  /// A vector of left columns times right columns of the vectors `panel`.
  void (*multiply)(const OuterProducts& products, const PackedRows& left, std::int64_t vector,
                   const PackedRows& right, Range panel, const Part& part) = nullptr;
};

/// Of the best instruction set here.
const Cut& cut();

}  // namespace harness::kernels::outer
