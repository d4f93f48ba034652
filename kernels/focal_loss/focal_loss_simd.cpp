#include "kernels/focal_loss/focal_loss_simd.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "kernels/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/focal_loss/focal_loss_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/focal_loss/focal_loss_terms-inl.hpp"

// What is the same for all targets, although this file is read once for each.
#ifndef HARNESS_FOCAL_LOOP_CONSTANTS
#define HARNESS_FOCAL_LOOP_CONSTANTS
namespace harness::kernels::focal {
namespace {

// A float lane adds up this many values, then its sum goes on in double.
constexpr std::int64_t kFloatSums = 32;
constexpr std::size_t kUnroll = 4;

inline float widen(float value) { return value; }
inline float widen(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
inline void narrow(float value, float& out) { out = value; }
/// To nearest even. A NaN stays one: those that occur have nothing in the bits that are dropped.
inline void narrow(float value, std::uint16_t& out) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  out = static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace
}  // namespace harness::kernels::focal
#endif

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::focal {
namespace HWY_NAMESPACE {
namespace {

/// Adds the lanes up in double.
HWY_INLINE double lanes_sum(V sum) {
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(sum, D(), lanes);
  double total = 0;
  for (std::size_t i = 0; i < hn::Lanes(D()); ++i) total += static_cast<double>(lanes[i]);
  return total;
}

/// Fewer than a vector's worth: through a buffer, so that nothing beyond the ends is touched.
template <bool kSquare, typename T>
double few_terms(const Factors& f, const T* logits, T* gradient, std::int64_t count) {
  const D d;
  HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
  for (std::int64_t i = 0; i < count; ++i) buffer[i] = widen(logits[i]);
  const V x[1] = {hn::Load(d, buffer)};
  V e[1];
  V sum[1] = {hn::Zero(d)};
  V derivative[1];
  exp_of_minus_abs(x, e);
  add_terms<kSquare>(f, x, e, sum, derivative);
  if (gradient != nullptr) {
    hn::Store(derivative[0], d, buffer);
    for (std::int64_t i = 0; i < count; ++i) narrow(buffer[i], gradient[i]);
  }
  return lanes_sum(hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(count)), sum[0]));
}

/// `count` logits in pieces of less than a vector, or one; advances the pointers past them.
template <bool kSquare, typename T>
HWY_INLINE double piece_terms(const Factors& f, const T*& logits, T*& gradient,
                              std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  double total = 0;
  while (count > 0) {
    const std::int64_t few = std::min(count, lanes);
    total += few_terms<kSquare>(f, logits, gradient, few);
    logits += few;
    if (gradient != nullptr) gradient += few;
    count -= few;
  }
  return total;
}

#if HWY_TARGET != HWY_SCALAR

template <bool kStream, class DT, class VT, typename T>
HWY_INLINE void put(VT v, DT d, T* to) {
  if constexpr (kStream) {
    hn::Stream(v, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

template <std::size_t N>
HWY_INLINE void load(const float* from, V (&x)[N]) {
  const D d;
  for (std::size_t i = 0; i < N; ++i) x[i] = hn::LoadU(d, from + i * hn::Lanes(d));
}

template <bool kStream, std::size_t N>
HWY_INLINE void store(const V (&x)[N], float* to) {
  const D d;
  for (std::size_t i = 0; i < N; ++i) put<kStream>(x[i], d, to + i * hn::Lanes(d));
}

// A register of bf16 is one vector of floats from its even places and one from its odd ones: no
// value changes its place, and the sum does not mind.
template <std::size_t N>
HWY_INLINE void load(const std::uint16_t* from, V (&x)[N]) {
  const D d;
  const hn::RepartitionToWide<hn::Repartition<std::uint16_t, D>> du32;
  const hn::Repartition<std::uint16_t, D> du16;
  for (std::size_t i = 0; i < N; i += 2) {
    const auto both = hn::BitCast(du32, hn::LoadU(du16, from + i * hn::Lanes(d)));
    x[i] = hn::BitCast(d, hn::ShiftLeft<16>(both));
    x[i + 1] = hn::BitCast(d, hn::And(both, hn::Set(du32, 0xFFFF0000U)));
  }
}

// As narrow() rounds: upwards where what is dropped, and one more where what is left is odd, is
// more than half.
template <bool kStream, std::size_t N>
HWY_INLINE void store(const V (&x)[N], std::uint16_t* to) {
  const D d;
  const hn::RebindToUnsigned<D> du32;
  const hn::Repartition<std::uint16_t, D> du16;
  const auto half = hn::Set(du16, std::uint16_t{0x8000});
  const auto one = hn::Set(du16, std::uint16_t{1});
  for (std::size_t i = 0; i < N; i += 2) {
    const auto even = hn::BitCast(du32, x[i]);
    const auto odd = hn::BitCast(du32, x[i + 1]);
    const auto left =
        hn::OddEven(hn::BitCast(du16, odd), hn::BitCast(du16, hn::ShiftRight<16>(even)));
    const auto dropped =
        hn::OddEven(hn::BitCast(du16, hn::ShiftLeft<16>(odd)), hn::BitCast(du16, even));
    const auto more = hn::SaturatedAdd(dropped, hn::And(left, one));
    const auto up = hn::Min(hn::SaturatedSub(more, half), one);
    put<kStream>(hn::Add(left, up), du16, to + i * hn::Lanes(d));
  }
}

/// Whole groups of N vectors; advances the pointers and the count past them.
template <bool kSquare, bool kGradient, bool kStream, std::size_t N, typename T>
HWY_INLINE double group_terms(const Factors& f, const T*& logits, T*& gradient,
                              std::int64_t& count) {
  const D d;
  const hn::Repartition<double, D> dd;
  const hn::Rebind<float, decltype(dd)> dh;
  const auto step = static_cast<std::int64_t>(N * hn::Lanes(d));
  if (count < step) return 0;
  auto low = hn::Zero(dd);
  auto high = hn::Zero(dd);
  V x[N];
  V e[N];
  load(logits, x);
  exp_of_minus_abs(x, e);
  do {
    V sum[N];
    for (std::size_t i = 0; i < N; ++i) sum[i] = hn::Zero(d);
    const std::int64_t turns = std::min(count / step, kFloatSums);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      // The exponential is one turn ahead: the processor has two independent halves to fill its
      // units with. After the last turn it is of a group that was done already.
      const T* const next = logits + (count >= 2 * step ? step : 0);
      V next_e[N];
      V derivative[N];
      load(next, x);
      exp_of_minus_abs(x, next_e);
      load(logits, x);
      add_terms<kSquare>(f, x, e, sum, derivative);
      for (std::size_t i = 0; i < N; ++i) e[i] = next_e[i];
      logits += step;
      count -= step;
      if constexpr (kGradient) {
        store<kStream>(derivative, gradient);
        gradient += step;
      }
    }
    for (std::size_t i = 0; i < N; ++i) {
      low = hn::Add(low, hn::PromoteTo(dd, hn::LowerHalf(dh, sum[i])));
      high = hn::Add(high, hn::PromoteTo(dd, hn::UpperHalf(dh, sum[i])));
    }
  } while (count >= step);
  return hn::GetLane(hn::SumOfLanes(dd, hn::Add(low, high)));
}

#endif  // HWY_SCALAR

template <bool kSquare, bool kGradient, bool kStream, typename T>
double range_terms(const Factors& f, const T* logits, T* gradient, std::int64_t count,
                   std::int64_t head) {
  double total = piece_terms<kSquare>(f, logits, gradient, head);
  count -= head;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t kUnit = sizeof(float) / sizeof(T);
  total += group_terms<kSquare, kGradient, kStream, kUnroll>(f, logits, gradient, count);
  total += group_terms<kSquare, kGradient, kStream, kUnit>(f, logits, gradient, count);
#endif
  return total + piece_terms<kSquare>(f, logits, gradient, count);
}

template <typename T>
double background(const T* logits, T* gradient, std::int64_t count, std::int64_t position,
                  const Term& term, bool stream) {
  constexpr std::size_t kVectorBytes = sizeof(float) * hn::MaxLanes(D());
  constexpr auto kUnit = static_cast<std::int64_t>(kVectorBytes / sizeof(T));
  const std::int64_t head = std::min(count, (kUnit - position % kUnit) % kUnit);
  if (term.gamma == 2 && term.weight > 0) {
    const auto scale = static_cast<double>(static_cast<float>(std::cbrt(term.weight)));
    const Factors f(scale, term);
    const bool aligned = reinterpret_cast<std::uintptr_t>(gradient + head) % kVectorBytes == 0;
    const double sum =
        gradient == nullptr ? range_terms<true, false, false>(f, logits, gradient, count, head)
        : stream && aligned ? range_terms<true, true, true>(f, logits, gradient, count, head)
                            : range_terms<true, true, false>(f, logits, gradient, count, head);
    return sum * term.weight / (2 * scale * scale);
  }
  const Factors f(1, term);
  const double sum = gradient == nullptr
                         ? range_terms<false, false, false>(f, logits, gradient, count, head)
                         : range_terms<false, true, false>(f, logits, gradient, count, head);
  return sum * term.weight / 2;
}

double background_fp32(const float* logits, float* gradient, std::int64_t count,
                       std::int64_t position, const Term& term, bool stream) {
  return background(logits, gradient, count, position, term, stream);
}

double background_bf16(const std::uint16_t* logits, std::uint16_t* gradient, std::int64_t count,
                       std::int64_t position, const Term& term, bool stream) {
  return background(logits, gradient, count, position, term, stream);
}

void stream_fence() { hwy::FlushStream(); }

void exp_and_log_of(const float* logits, float* exponential, float* logarithm, std::int64_t count) {
  const D d;
  const Factors f(1, {});
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
  for (std::int64_t at = 0; at < count; at += lanes) {
    const std::int64_t few = std::min(lanes, count - at);
    std::copy_n(logits + at, few, buffer);
    const V x[1] = {hn::Load(d, buffer)};
    V e[1];
    V p[1];
    V q[1];
    V series[1];
    exp_of_minus_abs(x, e);
    logistic(f, x, e, p, q, series);
    hn::Store(e[0], d, buffer);
    std::copy_n(buffer, few, exponential + at);
    hn::Store(hn::Mul(hn::Set(d, 0.5F), hn::Mul(series[0], e[0])), d, buffer);
    std::copy_n(buffer, few, logarithm + at);
  }
}

std::int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::focal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace harness::kernels::focal {
namespace {
HWY_EXPORT(background_fp32);
HWY_EXPORT(background_bf16);
HWY_EXPORT(stream_fence);
HWY_EXPORT(exp_and_log_of);
HWY_EXPORT(target);
}  // namespace

double background_loss(const float* logits, float* gradient, std::int64_t count,
                       std::int64_t position, const Term& term, bool stream) {
  return HWY_DYNAMIC_DISPATCH(background_fp32)(logits, gradient, count, position, term, stream);
}

double background_loss(const std::uint16_t* logits, std::uint16_t* gradient, std::int64_t count,
                       std::int64_t position, const Term& term, bool stream) {
  return HWY_DYNAMIC_DISPATCH(background_bf16)(logits, gradient, count, position, term, stream);
}

void fence() { HWY_DYNAMIC_DISPATCH(stream_fence)(); }

Value target_loss(double logit, const Term& term) {
  const double e = std::exp(-std::abs(logit));
  const double larger = 1 / (1 + e);
  const double p = logit < 0 ? e * larger : larger;
  const double q = logit < 0 ? larger : e * larger;
  // max(0, -x) and min(0, -x) in a form that is NaN for an infinite x of the harmless sign too.
  const double minus_log_p = (std::abs(logit) - logit) / 2 + std::log1p(e);
  const double log_q = -(std::abs(logit) + logit) / 2 - std::log1p(e);
  const double power = term.weight * (term.gamma == 2 ? q * q : std::exp(term.gamma * log_q));
  return {power * minus_log_p, -power * (q + term.gamma * p * minus_log_p)};
}

void exp_and_log(const float* logits, float* exponential, float* logarithm, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(exp_and_log_of)(logits, exponential, logarithm, count);
}

std::string instruction_set() { return hwy::TargetName(HWY_DYNAMIC_DISPATCH(target)()); }

}  // namespace harness::kernels::focal

#endif  // HWY_ONCE
