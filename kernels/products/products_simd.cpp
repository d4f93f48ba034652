#include "kernels/products/products_simd.hpp"

#include <algorithm>

#include "kernels/products/bf16_sums.hpp"

// Vectors are kept in arrays, which those of no fixed size (SVE) cannot be; NEON runs there.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
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
  const D d;
  return count >= kLanes ? hn::LoadU(d, from) : kernels::HWY_NAMESPACE::load_part(d, from, count);
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
  const D d;
  if (count >= kLanes) {
    hn::StoreU(value, d, to);
  } else {
    kernels::HWY_NAMESPACE::store_part(value, d, to, count);
  }
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

template <int kR, int kV>
HWY_INLINE void multiply_block(const Product& product, Int row, Int column, const float* panel) {
  const D d;
  V sum[kR][kV];
#pragma GCC unroll 2
  for (int v = 0; v < kV; ++v) {
    const Int first = column + v * kLanes;
    const V bias = product.bias != nullptr
                       ? load_some(product.bias + first, product.columns - first)
                       : hn::Zero(d);
#pragma GCC unroll 16
    for (int r = 0; r < kR; ++r) sum[r][v] = bias;
  }
  const Int deep = product.depth / product.lines;
  for (Int line = 0; line < product.lines; ++line) {
    const float* a = product.from + row * product.from_row + line * product.from_line;
    for (Int k = 0; k < deep; ++k) {
      V weights[kV];
#pragma GCC unroll 2
      for (int v = 0; v < kV; ++v) weights[v] = hn::Load(d, panel + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kR; ++r) {
        const V value = hn::Set(d, a[r * product.from_row]);
#pragma GCC unroll 2
        for (int v = 0; v < kV; ++v) sum[r][v] = hn::MulAdd(value, weights[v], sum[r][v]);
      }
      ++a;
      panel += kV * kLanes;
    }
  }
  finish(product, row, column, sum);
}

/// Calls multiply_block for `count` of 1 to kR.
template <int kR, int kV>
void multiply_rows(const Product& product, Int row, Int count, Int column, const float* panel) {
  if constexpr (kR > 0) {
    if (count < kR) return multiply_rows<kR - 1, kV>(product, row, count, column, panel);
    multiply_block<kR, kV>(product, row, column, panel);
  }
}

void multiply_panel(const Product& product, Int row, Int count, Int column) {
  const float* const panel = product.packed + column * product.depth;
  if (product.columns - column > kLanes) {
    multiply_rows<kRows, kVectors>(product, row, count, column, panel);
  } else {
    multiply_rows<kRows, 1>(product, row, count, column, panel);
  }
}

#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
static_assert(kLanes == kBf16Columns && kVectors == kBf16Panels && kRows == kBf16Rows);

template <int kV>
void finish_row(const Product& product, Int row, Int column, const float* sums) {
  const D d;
  V sum[1][kV];
#pragma GCC unroll 2
  for (int v = 0; v < kV; ++v) {
    const Int first = column + v * kLanes;
    sum[0][v] = hn::Load(d, sums + v * kLanes);
    if (product.bias != nullptr) {
      const V bias = load_some(product.bias + first, product.columns - first);
      sum[0][v] = hn::Add(sum[0][v], bias);
    }
  }
  finish<1, kV>(product, row, column, sum);
}

void multiply_narrow_panel(const Product& product, Int row, Int count, Int column) {
  HWY_ALIGN float sums[kRows * kVectors * kLanes];
  const int vectors = product.columns - column > kLanes ? 2 : 1;
  bf16_sums({.rows = count,
             .pairs = product.depth / 2,
             .from = product.narrow_from + row * product.from_row,
             .from_row = product.from_row,
             .panel = product.narrow_packed + column * product.depth,
             .vectors = vectors},
            sums);
  const auto finished = vectors == 2 ? finish_row<2> : finish_row<1>;
  for (Int r = 0; r < count; ++r) {
    finished(product, row + r, column, sums + r * vectors * kLanes);
  }
}
#else
constexpr auto multiply_narrow_panel = nullptr;
#endif

constexpr Cut kCut = {kRows, kVectors* kLanes, multiply_panel, multiply_narrow_panel};

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
