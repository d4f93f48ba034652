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

/// What block number `block` of `blocks` fetches of the panel that begins with that column.
products::Ahead ahead_of(const Product& product, const products::Cut& cut, Int column, Int block,
                         Int blocks) {
  const bool narrow = product.narrow_packed != nullptr;
  const Int steps = narrow ? product.depth / 2 : product.depth;
  const auto panel_bytes = cut.panel * static_cast<Int>(sizeof(float));  // of one step, in both
  const void* const panel =
      narrow ? static_cast<const void*>(product.narrow_packed + column * product.depth)
             : product.packed + column * product.depth;
  const Int step = panel_bytes / blocks;
  return {static_cast<const char*>(panel) + block * steps * step, step};
}

}  // namespace

std::size_t packed_product_floats(Int depth, Int columns) {
  return static_cast<std::size_t>(depth * padded(columns, products::cut().panel));
}

void pack_product(const ProductWeights& weights, float* packed) {
  pack<1>(weights, packed, [](float value) { return value; });
}

bool has_narrow_products() {
  return products::cut().multiply_narrow != nullptr && products::has_bf16_sums();
}

std::size_t packed_narrow_product_size(Int depth, Int columns) {
  return packed_product_floats(depth, columns);
}

void pack_narrow_product(const ProductWeights& weights, Bf16* packed) {
  pack<2>(weights, packed, rounded);
}

void multiply_part(const Product& product, Int part, Int parts) {
  if (product.rows <= 0 || product.columns <= 0) return;
  const products::Cut& cut = products::cut();
  const bool narrow = product.narrow_packed != nullptr;
  const auto compute = narrow ? cut.multiply_narrow : cut.multiply;
  const bool tiles = narrow && products::has_amx_sums();
  const Int blocks = divide_up(product.rows, tiles ? products::kAmxRows : cut.rows);
  const Int rows = divide_up(product.rows, blocks);  // as equal as can be
  const Int tasks = blocks * divide_up(product.columns, cut.panel);
  const Int end = tasks * (part + 1) / parts;
  for (Int task = tasks * part / parts; task < end; ++task) {
    const Int row = task % blocks * rows;
    if (row >= product.rows) continue;
    const Int column = task / blocks * cut.panel;
    const bool goes_on = (task / blocks + 1) * blocks < end;
    compute(product, row, std::min(rows, product.rows - row), column,
            ahead_of(product, cut, goes_on ? column + cut.panel : column, task % blocks, blocks));
  }
  if (tiles) products::release_tiles();
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
