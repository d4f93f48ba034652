// Products of a matrix with weights that were packed once, in float32 or, summed in float32, in
// bf16. What stands behind a product is done while its sums are at hand. Needs no LibTorch; vectors
// of the best instruction set that the machine has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace harness::kernels {

/// The bits of a bf16: a float's upper half.
using Bf16 = std::uint16_t;

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
  /// In place of `from` and `packed` where has_narrow_products(): lengths of rows are numbers of
  /// bf16, the depth is even and lies in one line.
  const Bf16* narrow_from = nullptr;
  const Bf16* narrow_packed = nullptr;  ///< by pack_narrow_product(), aligned to 64 bytes
  /// In place of `residual` and `to`, in float32 too; results are rounded to nearest even. As
  /// above, one may be the other.
  const Bf16* narrow_residual = nullptr;
  Bf16* narrow_to = nullptr;
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

/// Whether the machine multiplies pairs of bf16 (AVX512_BF16, and AMX where it has that), and may
/// here.
bool has_narrow_products();
/// Numbers of bf16 that packed weights take. Precondition for both: the depth is even.
std::size_t packed_narrow_product_size(std::int64_t depth, std::int64_t columns);
void pack_narrow_product(const ProductWeights& weights, Bf16* packed);

/// By all threads of OpenMP, or within one of its parallel regions by the one that calls. The bits
/// do not depend on how many there are.
void multiply(const Product& product);

/// Part number `part` of `parts` of that, by the thread that calls. All parts together write each
/// result once; threads of one parallel region may compute one each.
void multiply_part(const Product& product, std::int64_t part, std::int64_t parts);

/// "product:AVX3": with the instruction set; "product:AVX512_BF16" or "product:AMX_BF16".
const char* product_name();
const char* narrow_product_name();

}  // namespace harness::kernels
