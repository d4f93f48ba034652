// What one thread does of a product: some rows times a panel of columns.
#pragma once

#include <cstdint>

#include "kernels/products/products.hpp"

namespace harness::kernels::products {

/// What a block reads on the way for those behind it, from memory into the level-2 cache: a line at
/// each step of the depth, so far apart that all blocks of a panel fetch the next one together.
struct Ahead {
  const char* from = nullptr;
  std::int64_t step = 0;  ///< bytes
};

struct Cut {
  std::int64_t rows = 1;   ///< most that one product of registers has
  std::int64_t panel = 2;  ///< columns that are packed side by side
  /// Rows from `row` on, at most `rows` of them, times the panel whose first column is `column`.
  void (*multiply)(const Product& product, std::int64_t row, std::int64_t count,
                   std::int64_t column, Ahead ahead) = nullptr;
  /// The same in bf16; null where there is no instruction for it.
  void (*multiply_narrow)(const Product& product, std::int64_t row, std::int64_t count,
                          std::int64_t column, Ahead ahead) = nullptr;
};

/// Of the best instruction set here.
const Cut& cut();
/// "AVX3".
const char* target_name();

}  // namespace harness::kernels::products
