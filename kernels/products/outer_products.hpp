// The gradient by a matrix of weights: outer products of rows, summed over all of them, in float32.
// Needs no LibTorch; vectors of the best instruction set that the machine has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace harness::kernels {

/// to[i][j] = scale[i] * sum over rows r of left[r][i] right[r][j]. Rows lie in lines, as pixels of
/// a map do, of which a convolution with a stride skips some on the right. No extent is 0.
struct OuterProducts {
  std::int64_t lines = 1, width = 1;  ///< `width` rows a line
  std::int64_t left_columns = 1, right_columns = 1;
  const float* left = nullptr;  ///< rows one behind the other
  const float* right = nullptr;
  const std::int64_t* right_lines = nullptr;  ///< floats from `right` to each line
  std::int64_t right_row = 0;                 ///< floats from one row of a line to the next
  const float* scale = nullptr;               ///< of each left column; null: 1
  float* to = nullptr;                        ///< rows of `right_columns`, one behind the other
  float* left_sums = nullptr;  ///< sum over rows of left[r][i], without scale; null: not wanted
};

/// Floats that outer_products() needs besides, aligned to 64 bytes.
std::size_t outer_products_workspace(const OuterProducts& products);

/// By all threads of OpenMP. The bits do not depend on how many there are.
void outer_products(const OuterProducts& products, float* workspace);

}  // namespace harness::kernels
