// What one thread does of a product: some rows times a panel of columns.
#pragma once

#include <cstdint>

#include "kernels/products/products.hpp"

namespace harness::kernels::products {

/// What a block fetches on the way, from memory into the level-2 cache, for the panel behind its
/// own: at each step of the depth (in bf16 of a pair) so many bytes that the blocks of a panel
/// fetch the next one together.
struct Ahead {
  const char* from = nullptr;
  std::int64_t step = 0;  ///< bytes, two cache lines at most; 0: nothing
};

/// Rows from `row` on, `count` of them, times the panel whose first column is `column`.
struct Block {
  std::int64_t row = 0, count = 1;
  std::int64_t column = 0;
  Ahead ahead{};
};

struct Method {
  std::int64_t rows = 1;  ///< most of a block
  void (*multiply)(const Product& product, const Block& block) = nullptr;
};

struct Cut {
  std::int64_t panel = 2;  ///< columns that are packed side by side
  Method wide{};           ///< float32
  /// In bf16, by vectors and by tiles; null where no instruction set has them.
  Method narrow{}, tiled{};
};

/// Of the best instruction set here.
const Cut& cut();
/// "AVX3".
const char* target_name();

}  // namespace harness::kernels::products
