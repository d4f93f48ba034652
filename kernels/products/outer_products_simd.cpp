#include "kernels/products/outer_products_simd.hpp"

#include <algorithm>

#include "kernels/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/outer_products_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/block_sums-inl.hpp"
#include "kernels/part_of_vector-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::outer {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Int = std::int64_t;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

constexpr Int kLanes = hn::MaxLanes(D());
// Registers: 3 vectors of sums a row, 3 of the right, 1 of the broadcast value.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr Int kRows = std::min<Int>(kLanes, 8);
#else
constexpr Int kRows = std::min<Int>(kLanes, 4);
#endif
constexpr Int kPanel = 3;
constexpr Int kPanelBytes = Int{24} << 10;
constexpr Int kMostRows = kPanelBytes / (kPanel * kLanes * Int{sizeof(float)});

using kernels::HWY_NAMESPACE::load_at_most;
using kernels::HWY_NAMESPACE::store_at_most;
using kernels::HWY_NAMESPACE::sum_block;

void pack_left(const OuterProducts& p, Range rows, const PackedRows& to) {
  const D d;
  for (Int r = rows.begin; r < rows.end; ++r) {
    const float* const from = p.left + r * p.left_columns;
    float* at = to.values + (r - to.first) * kLanes;
    for (Int c = 0; c < p.left_columns; c += kLanes, at += to.vector) {
      hn::Store(load_at_most(d, from + c, p.left_columns - c), d, at);
    }
  }
}

void pack_right(const OuterProducts& p, Range rows, const PackedRows& to) {
  const D d;
  for (Int r = rows.begin; r < rows.end; ++r) {
    const float* const from = p.right + p.right_lines[r / p.width] + r % p.width * p.right_row;
    float* at = to.values + (r - to.first) * kLanes;
    for (Int c = 0; c < p.right_columns; c += kLanes, at += to.vector) {
      hn::Store(load_at_most(d, from + c, p.right_columns - c), d, at);
    }
  }
}

template <int kV>
void multiply_vectors(const OuterProducts& p, const PackedRows& left, Int vector,
                      const PackedRows& right, Int first, const Part& part) {
  const D d;
  constexpr Int kSumsRow = kV * kLanes;
  HWY_ALIGN float sums[kLanes * kSumsRow];
  const float* const a = left.values + vector * left.vector;
  const float* const b = right.values + first * right.vector;
  for (Int r = 0; r < kLanes; r += kRows) {
    sum_block<D, kRows, kV, 1, kLanes, 1>(a + r, kLanes, b, kLanes, right.vector, left.count,
                                          sums + r * kSumsRow, kSumsRow, false);
  }
  const Int rows = std::min(kLanes, p.left_columns - vector * kLanes);
  for (Int r = 0; r < rows; ++r) {
    const Int row = vector * kLanes + r;
    const bool scaled = part.last && p.scale != nullptr;
    const V scale = hn::Set(d, scaled ? p.scale[row] : 1.0F);
    for (int v = 0; v < kV; ++v) {
      const Int column = (first + v) * kLanes;
      float* const to = p.to + row * p.right_columns + column;
      V value = hn::Load(d, sums + r * kSumsRow + v * kLanes);
      if (part.add) value = hn::Add(value, load_at_most(d, to, p.right_columns - column));
      if (scaled) value = hn::Mul(value, scale);
      store_at_most(value, d, to, p.right_columns - column);
    }
  }
}

void multiply(const OuterProducts& p, const PackedRows& left, Int vector, const PackedRows& right,
              Range panel, const Part& part) {
  switch (panel.end - panel.begin) {
    case 1:
      return multiply_vectors<1>(p, left, vector, right, panel.begin, part);
    case 2:
      return multiply_vectors<2>(p, left, vector, right, panel.begin, part);
    default:
      return multiply_vectors<kPanel>(p, left, vector, right, panel.begin, part);
  }
}

constexpr Cut kCut{kLanes, kPanel, kMostRows, pack_left, pack_right, multiply};

const Cut* target_cut() { return &kCut; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::outer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace harness::kernels::outer {

HWY_EXPORT(target_cut);

const Cut& cut() { return *HWY_DYNAMIC_DISPATCH(target_cut)(); }

}  // namespace harness::kernels::outer
#endif
