#include "kernels/encoder/encoder_simd.hpp"

#include <cmath>
#include <cstddef>

// As in products_simd.cpp.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/encoder/encoder_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::encoder {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Int = std::int64_t;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr Int kLanes = hn::MaxLanes(D());

/// Calls `whole(i)` for each whole vector of a row, and `part(i, mask)` for the rest.
template <class Whole, class Part>
HWY_INLINE void for_each_vector(Int width, const Whole& whole, const Part& part) {
  Int i = 0;
  for (; i + kLanes <= width; i += kLanes) whole(i);
  if (i < width) part(i, hn::FirstN(D(), static_cast<std::size_t>(width - i)));
}

/// Of what `value` makes of each element; what is not there counts 0.
template <class Value>
HWY_INLINE float sum_of(const float* from, Int width, const Value& value) {
  const D d;
  V sum = hn::Zero(d);
  for_each_vector(
      width, [&](Int i) { sum = hn::Add(sum, value(hn::LoadU(d, from + i))); },
      [&](Int i, auto mask) {
        sum = hn::Add(sum, hn::IfThenElseZero(mask, value(hn::MaskedLoad(mask, d, from + i))));
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
      [&](Int i, auto mask) {
        hn::BlendedStore(put(hn::MaskedLoad(mask, d, from + i), hn::MaskedLoad(mask, d, weight + i),
                             hn::MaskedLoad(mask, d, bias + i)),
                         mask, d, to + i);
      });
}

void softmax(float* values, Int count, float scale) {
  const D d;
  V most = hn::Set(d, values[0]);
  for_each_vector(
      count, [&](Int i) { most = hn::Max(most, hn::LoadU(d, values + i)); },
      [&](Int i, auto mask) {
        most = hn::Max(most, hn::IfThenElse(mask, hn::MaskedLoad(mask, d, values + i), most));
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
      [&](Int i, auto mask) {
        const V e = hn::IfThenElseZero(mask, raised(hn::MaskedLoad(mask, d, values + i)));
        hn::BlendedStore(e, mask, d, values + i);
        sum = hn::Add(sum, e);
      });
  const V share = hn::Div(hn::Set(d, 1.0F), hn::SumOfLanes(d, sum));
  for_each_vector(
      count, [&](Int i) { hn::StoreU(hn::Mul(hn::LoadU(d, values + i), share), d, values + i); },
      [&](Int i, auto mask) {
        hn::BlendedStore(hn::Mul(hn::MaskedLoad(mask, d, values + i), share), mask, d, values + i);
      });
}

void add(const float* from, Int width, float* to) {
  const D d;
  for_each_vector(
      width,
      [&](Int i) { hn::StoreU(hn::Add(hn::LoadU(d, from + i), hn::LoadU(d, to + i)), d, to + i); },
      [&](Int i, auto mask) {
        hn::BlendedStore(
            hn::Add(hn::MaskedLoad(mask, d, from + i), hn::MaskedLoad(mask, d, to + i)), mask, d,
            to + i);
      });
}

constexpr Rows kRows = {normalise, softmax, add};

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
