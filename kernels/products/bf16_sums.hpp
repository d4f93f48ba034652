// Sums of products of bf16 by AVX512_BF16, for which Highway 1.0.3 has no name.
#pragma once

#include <cstdint>

#include "kernels/products/products.hpp"
#include "kernels/products/products_simd.hpp"

namespace harness::kernels::products {

constexpr std::int64_t kBf16Columns = 16;  ///< of one vector
constexpr int kBf16Panels = 2;             ///< vectors of a panel
constexpr int kBf16Rows = 13;              ///< most rows of one call: their sums lie in registers

struct Bf16Sums {
  std::int64_t rows = 1;   ///< as many as the method takes
  std::int64_t pairs = 0;  ///< half the depth
  const Bf16* from = nullptr;
  std::int64_t from_row = 0;
  const Bf16* panel = nullptr;  ///< [pair][column][2], aligned to 64 bytes
  int vectors = 1;              ///< of columns: 1 or kBf16Panels
  Ahead ahead{};                ///< at each pair
};

bool has_bf16_sums();

/// To sums[row][column], dense, aligned to 64 bytes. Each sum adds one pair after another, whatever
/// is beside it. Denormals count 0, as the instruction has it. Precondition: has_bf16_sums(),
/// kBf16Rows rows at most.
void bf16_sums(const Bf16Sums& task, float* sums);

}  // namespace harness::kernels::products
