// The same sums by AMX, whose tiles multiply 16 rows with 16 columns at once.
#pragma once

#include <cstdint>

#include "kernels/products/bf16_sums.hpp"

namespace harness::kernels::products {

constexpr int kAmxRows = 32;  ///< most rows of one call: two tiles

/// Whether the machine has AMX_BF16 and the system lets this process use it.
bool has_amx_sums();
/// For tests: as if it had none.
void allow_amx_sums(bool allowed);

/// As bf16_sums(), of 1 to kAmxRows rows; sums are added up in another order. The thread then holds
/// tiles until it calls release_tiles(). Precondition: has_amx_sums().
void amx_sums(const Bf16Sums& task, float* sums);

/// For whoever uses tiles next, and so that the processor can rest.
void release_tiles();

}  // namespace harness::kernels::products
