// Products of a matrix with weights that were packed once, in float32. What stands behind a product
// is done while its sums are still in registers. Needs no LibTorch; vectors of the best instruction
// set that the machine has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace harness::kernels {

enum class Activation {
  kNone,
  kClip,  ///< between `low` and `high`; a NaN stays one
  kGelu,  ///< x * Phi(x) with the error function itself, to 2e-7 of |x|
};

/// to[r][n] = activation(sum over k of from[r][k] weights[n][k] + bias[n] + residual[r][n]).
/// Lengths of rows are floats from one to the next. `to` may be `residual`, and nothing else that
/// is read. The depth may lie in several lines, as what a convolution's kernel sees of a map does.
struct Product {
  std::int64_t rows = 0, depth = 0, columns = 0;
  const float* from = nullptr;
  std::int64_t from_row = 0;
  std::int64_t lines = 1;  ///< equal parts of the depth
  std::int64_t from_line = 0;
  const float* packed = nullptr;    ///< by pack_product(), aligned to 64 bytes
  const float* bias = nullptr;      ///< of each column; null: none
  const float* residual = nullptr;  ///< null: none
  std::int64_t residual_row = 0;
  Activation activation = Activation::kNone;
  float low = 0, high = 0;  ///< of kClip
  float* to = nullptr;
  std::int64_t to_row = 0;
};

/// Floats that packed weights take.
std::size_t packed_product_floats(std::int64_t depth, std::int64_t columns);

/// Weights to be packed: that of column n and depth k lies at values[n * column + k * depth_step].
struct ProductWeights {
  const float* values = nullptr;
  std::int64_t depth = 0, columns = 0;
  std::int64_t column = 0, depth_step = 1;
};

void pack_product(const ProductWeights& weights, float* packed);

/// By all threads of OpenMP, or within one of its parallel regions by the one that calls. The bits
/// do not depend on how many there are.
void multiply(const Product& product);

/// Part number `part` of `parts` of that, by the thread that calls. All parts together write each
/// result once; threads of one parallel region may compute one each.
void multiply_part(const Product& product, std::int64_t part, std::int64_t parts);

/// "product:AVX3": with the instruction set.
const char* product_name();

}  // namespace harness::kernels
