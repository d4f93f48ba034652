#include "kernels/products/products_simd.hpp"

#include <algorithm>

#include "kernels/instruction_sets.hpp"
#include "kernels/products/amx_sums.hpp"
#include "kernels/products/bf16_sums.hpp"
#include "kernels/products/row_pointers.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/products_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "kernels/bf16-inl.hpp"
#include "kernels/clip-inl.hpp"
#include "kernels/part_of_vector-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::products {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Int = std::int64_t;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr Int kLanes = hn::MaxLanes(D());
constexpr int kVectors = 2;  // of a panel
// Registers: 2 vectors of sums a row, 2 of weights, 1 of the broadcast value.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kRows = 13;
#else
constexpr int kRows = 6;
#endif

/// x times the normal distribution up to x. The error function is Abramowitz and Stegun's 7.1.26,
/// which is off by 1.5e-7; its complement, q, is what is computed, so that nothing cancels where x
/// is far below 0.
HWY_INLINE V gelu(V x) {
  const D d;
  const V z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752F));
  const V t = hn::Div(hn::Set(d, 1.0F), hn::MulAdd(z, hn::Set(d, 0.3275911F), hn::Set(d, 1.0F)));
  V q = hn::MulAdd(t, hn::Set(d, 1.061405429F), hn::Set(d, -1.453152027F));
  q = hn::MulAdd(t, q, hn::Set(d, 1.421413741F));
  q = hn::MulAdd(t, q, hn::Set(d, -0.284496736F));
  q = hn::MulAdd(t, q, hn::Set(d, 0.254829592F));
  q = hn::Mul(hn::Mul(q, t), hn::Exp(d, hn::Neg(hn::Mul(z, z))));
  const V both = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), q, hn::Sub(hn::Set(d, 2.0F), q));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5F), x), both);
}

struct Clip {
  V low, high;
  HWY_INLINE V operator()(V x) const { return kernels::HWY_NAMESPACE::clip(x, low, high); }
};
struct Gelu {
  HWY_INLINE V operator()(V x) const { return gelu(x); }
};
struct Nothing {
  HWY_INLINE V operator()(V x) const { return x; }
};

HWY_INLINE V load_some(const float* from, Int count) {
  return kernels::HWY_NAMESPACE::load_at_most(D(), from, count);
}

HWY_INLINE V load_some(const Bf16* from, Int count) {
  using kernels::HWY_NAMESPACE::load_bf16;
  const D d;
  if (count >= kLanes) return load_bf16(d, from);
  HWY_ALIGN Bf16 part[kLanes] = {};
  std::copy_n(from, count, part);
  return load_bf16(d, part);
}

HWY_INLINE void store_some(V value, Bf16* to, Int count) {
  using kernels::HWY_NAMESPACE::store_bf16;
  const D d;
  if (count >= kLanes) return store_bf16(value, d, to);
  HWY_ALIGN Bf16 part[kLanes];
  store_bf16(value, d, part);
  std::copy_n(part, count, to);
}

HWY_INLINE void store_some(V value, float* to, Int count) {
  kernels::HWY_NAMESPACE::store_at_most(value, D(), to, count);
}

/// What stands behind a product, of one block of sums.
template <int kR, int kV, class Activate>
HWY_INLINE void finish(const Product& product, Int row, Int column, const V (&sum)[kR][kV],
                       const Activate& activate) {
#pragma GCC unroll 2
  for (int v = 0; v < kV; ++v) {
    const Int first = column + v * kLanes;
    const Int some = product.columns - first;
#pragma GCC unroll 16
    for (int r = 0; r < kR; ++r) {
      V value = sum[r][v];
      if (product.residual != nullptr) {
        const float* const added = product.residual + (row + r) * product.residual_row + first;
        value = hn::Add(value, load_some(added, some));
      } else if (product.narrow_residual != nullptr) {
        const Int place = (row + r) * product.residual_row + first;
        value = hn::Add(value, load_some(product.narrow_residual + place, some));
      }
      const Int place = (row + r) * product.to_row + first;
      if (product.narrow_to != nullptr) {
        store_some(activate(value), product.narrow_to + place, some);
      } else {
        store_some(activate(value), product.to + place, some);
      }
    }
  }
}

template <int kR, int kV>
HWY_INLINE void finish(const Product& product, Int row, Int column, const V (&sum)[kR][kV]) {
  const D d;
  switch (product.activation) {
    case Activation::kClip:
      finish(product, row, column, sum, Clip{hn::Set(d, product.low), hn::Set(d, product.high)});
      break;
    case Activation::kGelu:
      finish(product, row, column, sum, Gelu());
      break;
    default:
      finish(product, row, column, sum, Nothing());
  }
}

/// Loads sums that lie in memory, adds the bias, and finishes them.
template <int kR, int kV>
void finish_rows(const Product& product, Int row, Int column, const float* sums) {
  const D d;
  V sum[kR][kV];
#pragma GCC unroll 2
  for (int v = 0; v < kV; ++v) {
    const Int first = column + v * kLanes;
    const V bias = product.bias != nullptr
                       ? load_some(product.bias + first, product.columns - first)
                       : hn::Zero(d);
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) {
      sum[r][v] = hn::Add(hn::Load(d, sums + (r * kV + v) * kLanes), bias);
    }
  }
  finish<kR, kV>(product, row, column, sum);
}

/// Of all rows of a block, some at once: one row's steps would wait for each other.
template <int kV>
void finish_block(const Product& product, Int row, Int count, Int column, const float* sums) {
  constexpr int kAtOnce = 4;
  Int r = 0;
  for (; r + kAtOnce <= count; r += kAtOnce) {
    finish_rows<kAtOnce, kV>(product, row + r, column, sums + r * kV * kLanes);
  }
  for (; r < count; ++r) finish_rows<1, kV>(product, row + r, column, sums + r * kV * kLanes);
}

/// To sums[row][column], dense. A function of its own that does nothing else: beside what follows a
/// product the compiler keeps some of the sums in memory.
template <int kR, int kV>
HWY_NOINLINE void sums_of(const Product& product, Int row, const float* panel, Ahead ahead,
                          float* sums) {
  const D d;
  V sum[kR][kV];
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kV; ++v) sum[r][v] = hn::Zero(d);
  }
  const Int deep = product.depth / product.lines;
  for (Int line = 0; line < product.lines; ++line) {
    RowPointers<kR, float> rows(product.from + row * product.from_row + line * product.from_line,
                                product.from_row);
    for (Int k = 0; k < deep; ++k) {
      V weights[kV];
#pragma GCC unroll 2
      for (int v = 0; v < kV; ++v) weights[v] = hn::Load(d, panel + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kR; ++r) {
        const V value = hn::Set(d, *rows.of(r));
#pragma GCC unroll 2
        for (int v = 0; v < kV; ++v) sum[r][v] = hn::MulAdd(value, weights[v], sum[r][v]);
      }
      rows.advance(1);
      panel += kV * kLanes;
      __builtin_prefetch(ahead.from, 0, 2);
      __builtin_prefetch(ahead.from + ahead.step / 2, 0, 2);
      ahead.from += ahead.step;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kV; ++v) hn::Store(sum[r][v], d, sums + (r * kV + v) * kLanes);
  }
}

/// Calls sums_of for `count` of 1 to kR.
template <int kR, int kV>
void sums_of_rows(const Product& product, Int row, Int count, const float* panel, Ahead ahead,
                  float* sums) {
  if constexpr (kR > 0) {
    if (count < kR) return sums_of_rows<kR - 1, kV>(product, row, count, panel, ahead, sums);
    sums_of<kR, kV>(product, row, panel, ahead, sums);
  }
}

void multiply_panel(const Product& product, const Block& block) {
  HWY_ALIGN float sums[kRows * kLanes * kVectors];
  const auto [row, count, column, ahead] = block;
  const float* const panel = product.packed + column * product.depth;
  if (product.columns - column > kLanes) {
    sums_of_rows<kRows, kVectors>(product, row, count, panel, ahead, sums);
    finish_block<kVectors>(product, row, count, column, sums);
  } else {
    sums_of_rows<kRows, 1>(product, row, count, panel, ahead, sums);
    finish_block<1>(product, row, count, column, sums);
  }
}

#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
static_assert(kLanes == kBf16Columns && kVectors == kBf16Panels);

template <Int kMostRows, void (*kAddUp)(const Bf16Sums&, float*)>
void multiply_narrow_panel(const Product& product, const Block& block) {
  HWY_ALIGN float sums[kMostRows * kVectors * kLanes];
  const auto [row, count, column, ahead] = block;
  const int vectors = product.columns - column > kLanes ? 2 : 1;
  kAddUp({.rows = count,
          .pairs = product.depth / 2,
          .from = product.narrow_from + row * product.from_row,
          .from_row = product.from_row,
          .panel = product.narrow_packed + column * product.depth,
          .vectors = vectors,
          .ahead = ahead},
         sums);
  const auto finished = vectors == 2 ? finish_block<2> : finish_block<1>;
  finished(product, row, count, column, sums);
}

constexpr Method kNarrow{kBf16Rows, multiply_narrow_panel<kBf16Rows, bf16_sums>};
constexpr Method kTiled{kAmxRows, multiply_narrow_panel<kAmxRows, amx_sums>};
#else
constexpr Method kNarrow{};
constexpr Method kTiled{};
#endif

constexpr Cut kCut{kVectors * kLanes, {kRows, multiply_panel}, kNarrow, kTiled};

const Cut* target_cut() { return &kCut; }

const char* own_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::products
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace harness::kernels::products {

HWY_EXPORT(target_cut);
HWY_EXPORT(own_name);

const Cut& cut() { return *HWY_DYNAMIC_DISPATCH(target_cut)(); }
const char* target_name() { return HWY_DYNAMIC_DISPATCH(own_name)(); }

}  // namespace harness::kernels::products
#endif
