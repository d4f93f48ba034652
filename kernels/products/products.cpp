#include "kernels/products/products.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "kernels/products/amx_sums.hpp"
#include "kernels/products/bf16_sums.hpp"
#include "kernels/products/products_simd.hpp"

namespace harness::kernels {
namespace {

using Int = std::int64_t;

// Multiply-adds below which waking the other threads costs more than they bring.
constexpr Int kWorthSharing = Int{1} << 17;

Int divide_up(Int a, Int b) { return (a + b - 1) / b; }

/// Columns as they are packed: whole panels, of which the last may be half of one.
Int padded(Int columns, Int panel) { return divide_up(columns, panel / 2) * (panel / 2); }

/// To nearest even; a NaN stays one.
Bf16 rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<Bf16>(bits >> 16 | 0x40U);
  return static_cast<Bf16>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

/// `kTogether` of the depth side by side, for each column of a panel.
template <Int kTogether, class T, class Convert>
void pack(const ProductWeights& weights, T* packed, const Convert& convert) {
  const Int panel = products::cut().panel;
  const Int all = padded(weights.columns, panel);
  for (Int column = 0; column < all; column += panel) {
    const Int wide = std::min(panel, all - column);
    const Int there = std::min(wide, weights.columns - column);
    T* to = packed + column * weights.depth;
    for (Int k = 0; k < weights.depth; k += kTogether, to += kTogether * wide) {
      const float* const from = weights.values + column * weights.column + k * weights.depth_step;
      for (Int n = 0; n < there; ++n) {
        for (Int i = 0; i < kTogether; ++i) {
          to[kTogether * n + i] = convert(from[n * weights.column + i * weights.depth_step]);
        }
      }
      std::fill(to + kTogether * there, to + kTogether * wide, T{0});
    }
  }
}

/// What block number `block` of `blocks` fetches of the panel that begins with that column, if
/// there is one.
products::Ahead ahead_of(const Product& product, Int panel, Int column, Int block, Int blocks) {
  const auto* const packed = product.narrow_packed != nullptr
                                 ? reinterpret_cast<const char*>(product.narrow_packed)
                                 : reinterpret_cast<const char*>(product.packed);
  if (column >= product.columns) return {packed, 0};
  const bool narrow = product.narrow_packed != nullptr;
  const Int steps = narrow ? product.depth / 2 : product.depth;
  constexpr Int kColumnBytes = sizeof(float);  // of a step: a float, or a pair
  const Int columns = 2 * (product.columns - column) > panel ? panel : panel / 2;
  const Int step = columns * kColumnBytes / blocks;
  return {packed + (column * steps * kColumnBytes + block * steps * step), step};
}

/// How a product is computed here.
const products::Method& method_of(const Product& product) {
  const products::Cut& cut = products::cut();
  if (product.narrow_packed == nullptr) return cut.wide;
  return products::has_amx_sums() ? cut.tiled : cut.narrow;
}

}  // namespace

std::size_t packed_product_floats(Int depth, Int columns) {
  return static_cast<std::size_t>(depth * padded(columns, products::cut().panel));
}

void pack_product(const ProductWeights& weights, float* packed) {
  pack<1>(weights, packed, [](float value) { return value; });
}

bool has_narrow_products() {
  return products::cut().narrow.multiply != nullptr && products::has_bf16_sums();
}

std::size_t packed_narrow_product_size(Int depth, Int columns) {
  return packed_product_floats(depth, columns);
}

void pack_narrow_product(const ProductWeights& weights, Bf16* packed) {
  pack<2>(weights, packed, rounded);
}

void multiply_part(const Product& product, Int part, Int parts) {
  if (product.rows <= 0 || product.columns <= 0) return;
  const products::Method& method = method_of(product);
  const Int panel = products::cut().panel;
  const Int blocks = divide_up(product.rows, method.rows);
  const Int rows = divide_up(product.rows, blocks);  // as equal as can be
  const Int tasks = blocks * divide_up(product.columns, panel);
  const Int end = tasks * (part + 1) / parts;
  for (Int task = tasks * part / parts; task < end; ++task) {
    const Int row = task % blocks * rows;
    if (row >= product.rows) continue;
    const Int column = task / blocks * panel;
    // The panel behind this one may be another thread's.
    const bool goes_on = (task / blocks + 1) * blocks < end;
    const Int next = goes_on ? column + panel : product.columns;
    method.multiply(product, {.row = row,
                              .count = std::min(rows, product.rows - row),
                              .column = column,
                              .ahead = ahead_of(product, panel, next, task % blocks, blocks)});
  }
  if (&method == &products::cut().tiled) products::release_tiles();
}

void multiply(const Product& product) {
  const bool shared =
      omp_in_parallel() == 0 && product.rows * product.depth * product.columns >= kWorthSharing;
#pragma omp parallel if (shared)
  multiply_part(product, omp_get_thread_num(), omp_get_num_threads());
}

const char* product_name() {
  static const std::string name = std::string("product:") + products::target_name();
  return name.c_str();
}

const char* narrow_product_name() {
  return products::has_amx_sums() ? "product:AMX_BF16" : "product:AVX512_BF16";
}

}  // namespace harness::kernels
