#include "kernels/encoder/encoder_simd.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/encoder/encoder_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "kernels/bf16-inl.hpp"
#include "kernels/part_of_vector-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::encoder {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Int = std::int64_t;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr Int kLanes = hn::MaxLanes(D());

/// Those of the first `count` lanes.
HWY_INLINE auto first(Int count) { return hn::FirstN(D(), static_cast<std::size_t>(count)); }

using kernels::HWY_NAMESPACE::load_part;
using kernels::HWY_NAMESPACE::store_part;

/// Calls `whole(i)` for each whole vector of a row, and `part(i, left)` for the rest.
template <class Whole, class Part>
HWY_INLINE void for_each_vector(Int width, const Whole& whole, const Part& part) {
  Int i = 0;
  for (; i + kLanes <= width; i += kLanes) whole(i);
  if (i < width) part(i, width - i);
}

/// Of what `value` makes of each element; what is not there counts 0.
template <class Value>
HWY_INLINE float sum_of(const float* from, Int width, const Value& value) {
  const D d;
  V sum = hn::Zero(d);
  for_each_vector(
      width, [&](Int i) { sum = hn::Add(sum, value(hn::LoadU(d, from + i))); },
      [&](Int i, Int left) {
        sum = hn::Add(sum, hn::IfThenElseZero(first(left), value(load_part(d, from + i, left))));
      });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void normalise(const float* from, Int width, const float* weight, const float* bias, float epsilon,
               float* to) {
  const D d;
  const float mean = sum_of(from, width, [](V x) { return x; }) / static_cast<float>(width);
  const V middle = hn::Set(d, mean);
  const float squares = sum_of(from, width, [&](V x) {
    const V off = hn::Sub(x, middle);
    return hn::Mul(off, off);
  });
  const V scale = hn::Set(d, 1.0F / std::sqrt(squares / static_cast<float>(width) + epsilon));
  const auto put = [&](V x, V by, V shift) {
    return hn::MulAdd(hn::Mul(hn::Sub(x, middle), scale), by, shift);
  };
  for_each_vector(
      width,
      [&](Int i) {
        hn::StoreU(put(hn::LoadU(d, from + i), hn::LoadU(d, weight + i), hn::LoadU(d, bias + i)), d,
                   to + i);
      },
      [&](Int i, Int left) {
        store_part(put(load_part(d, from + i, left), load_part(d, weight + i, left),
                       load_part(d, bias + i, left)),
                   d, to + i, left);
      });
}

void softmax(float* values, Int count, float scale) {
  const D d;
  V most = hn::Set(d, values[0]);
  for_each_vector(
      count, [&](Int i) { most = hn::Max(most, hn::LoadU(d, values + i)); },
      [&](Int i, Int left) {
        most = hn::Max(most, hn::IfThenElse(first(left), load_part(d, values + i, left), most));
      });
  const V largest = hn::MaxOfLanes(d, most);
  const V by = hn::Set(d, scale);
  const auto raised = [&](V x) { return hn::Exp(d, hn::Mul(hn::Sub(x, largest), by)); };
  V sum = hn::Zero(d);
  for_each_vector(
      count,
      [&](Int i) {
        const V e = raised(hn::LoadU(d, values + i));
        hn::StoreU(e, d, values + i);
        sum = hn::Add(sum, e);
      },
      [&](Int i, Int left) {
        const V e = hn::IfThenElseZero(first(left), raised(load_part(d, values + i, left)));
        store_part(e, d, values + i, left);
        sum = hn::Add(sum, e);
      });
  const V share = hn::Div(hn::Set(d, 1.0F), hn::SumOfLanes(d, sum));
  for_each_vector(
      count, [&](Int i) { hn::StoreU(hn::Mul(hn::LoadU(d, values + i), share), d, values + i); },
      [&](Int i, Int left) {
        store_part(hn::Mul(load_part(d, values + i, left), share), d, values + i, left);
      });
}

void add(const float* from, Int width, float* to) {
  const D d;
  for_each_vector(
      width,
      [&](Int i) { hn::StoreU(hn::Add(hn::LoadU(d, from + i), hn::LoadU(d, to + i)), d, to + i); },
      [&](Int i, Int left) {
        store_part(hn::Add(load_part(d, from + i, left), load_part(d, to + i, left)), d, to + i,
                   left);
      });
}

void round(const float* from, Int width, std::uint16_t* to) {
  using kernels::HWY_NAMESPACE::store_bf16;
  const D d;
  for_each_vector(
      width, [&](Int i) { store_bf16(hn::LoadU(d, from + i), d, to + i); },
      [&](Int i, Int left) {
        HWY_ALIGN std::uint16_t part[kLanes];
        store_bf16(load_part(d, from + i, left), d, part);
        std::copy_n(part, left, to + i);
      });
}

constexpr Rows kRows = {normalise, softmax, add, round};

const Rows* target_rows() { return &kRows; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::encoder
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace harness::kernels::encoder {

HWY_EXPORT(target_rows);

const Rows& rows() { return *HWY_DYNAMIC_DISPATCH(target_rows)(); }

}  // namespace harness::kernels::encoder
#endif
