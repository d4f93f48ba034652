// The terms of the focal loss in vectors, for the instruction set that is being compiled: Highway
// includes this once for each, hence no `#pragma once`. To be included by focal_loss_simd.cpp.
#include <hwy/highway.h>

#include <cstddef>

#include "kernels/focal_loss_simd.hpp"

// What is the same for all targets.
#ifndef HARNESS_FOCAL_TERMS_CONSTANTS
#define HARNESS_FOCAL_TERMS_CONSTANTS
namespace harness::kernels::focal {

// exp(-|x|) is taken as if |x| were no larger: the least normal float.
inline constexpr float kLowest = -87.33654F;
// 1.5 * 2^23: added to a float below 2^22 it rounds to an integer, left in the lowest bits.
inline constexpr float kRound = 12582912.0F;
// exp(r) = 1 + r (E1 + r (E2 + ...)) for |r| <= ln(2) / 2: minimax, relative error 9.2e-8.
inline constexpr float kE1 = 0.99999970685F;
inline constexpr float kE2 = 0.49999148860F;
inline constexpr float kE3 = 0.16667636930F;
inline constexpr float kE4 = 0.041898020686F;
inline constexpr float kE5 = 0.0082902995463F;
// log(1 + e) = e (N0 + e (N1 + ...)) / ((1 + e) (D0 + e (D1 + e))) for 0 <= e <= 1: minimax,
// relative error 2.5e-8. The factor 1 + e lets one division do for this and the logistic function.
inline constexpr float kD0 = 6.86990757F;
inline constexpr float kD1 = 6.05919046F;
inline constexpr float kN0 = kD0;
inline constexpr float kN1 = 9.49412643F;
inline constexpr float kN2 = 2.88489654F;
inline constexpr float kN3 = 0.0608997894F;

}  // namespace harness::kernels::focal
#endif

#if defined(HARNESS_FOCAL_TERMS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_FOCAL_TERMS_TOGGLE
#undef HARNESS_FOCAL_TERMS_TOGGLE
#else
#define HARNESS_FOCAL_TERMS_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::focal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Everything below works on N vectors step by step, so that the latency of one is filled with the
// others.

/// y <- exp(y) for y <= 0.
template <std::size_t N>
HWY_INLINE void exp_of_nonpositive(V (&y)[N]) {
  const D d;
  const hn::RebindToSigned<D> di;
  V n[N];
  V r[N];
  V sum[N];
  // Max gives its second argument when there is a NaN.
  for (std::size_t i = 0; i < N; ++i) y[i] = hn::Max(hn::Set(d, kLowest), y[i]);
  for (std::size_t i = 0; i < N; ++i) {
    n[i] = hn::MulAdd(y[i], hn::Set(d, 1.44269504F), hn::Set(d, kRound));
  }
  for (std::size_t i = 0; i < N; ++i) r[i] = hn::Sub(n[i], hn::Set(d, kRound));
#if HWY_NATIVE_FMA
  // ln(2) as a float is wrong by 2e-9: at most 2.4e-7 after the multiplication by 126.
  for (std::size_t i = 0; i < N; ++i) r[i] = hn::NegMulAdd(r[i], hn::Set(d, 0.693147181F), y[i]);
#else
  // The first part of ln(2) has few enough digits for an exact product.
  for (std::size_t i = 0; i < N; ++i) {
    const V high = hn::Sub(y[i], hn::Mul(r[i], hn::Set(d, 0.693359375F)));
    r[i] = hn::Sub(high, hn::Mul(r[i], hn::Set(d, -2.12194440e-4F)));
  }
#endif
  for (std::size_t i = 0; i < N; ++i) {
    sum[i] = hn::MulAdd(r[i], hn::Set(d, kE5), hn::Set(d, kE4));
  }
  for (std::size_t i = 0; i < N; ++i) sum[i] = hn::MulAdd(r[i], sum[i], hn::Set(d, kE3));
  for (std::size_t i = 0; i < N; ++i) sum[i] = hn::MulAdd(r[i], sum[i], hn::Set(d, kE2));
  for (std::size_t i = 0; i < N; ++i) sum[i] = hn::MulAdd(r[i], sum[i], hn::Set(d, kE1));
  for (std::size_t i = 0; i < N; ++i) sum[i] = hn::MulAdd(r[i], sum[i], hn::Set(d, 1.0F));
  // Times 2^n: the integer in n's lowest bits goes to the exponent, what is above falls off.
  for (std::size_t i = 0; i < N; ++i) {
    const auto power = hn::ShiftLeft<23>(hn::BitCast(di, n[i]));
    y[i] = hn::BitCast(d, hn::Add(hn::BitCast(di, sum[i]), power));
  }
}

/// What depends on the term but not on the logit. With `scale` s: p and 1 - p come out as s p and
/// s (1 - p).
struct Factors {
  V scale, n0, n1, n2, n3;
  V half_gamma, weight;

  HWY_INLINE Factors(double s, const Term& term)
      : scale(hn::Set(D(), static_cast<float>(s))),
        n0(hn::Set(D(), static_cast<float>(2 * kN0 / s))),
        n1(hn::Set(D(), static_cast<float>(2 * kN1 / s))),
        n2(hn::Set(D(), static_cast<float>(2 * kN2 / s))),
        n3(hn::Set(D(), static_cast<float>(2 * kN3 / s))),
        half_gamma(hn::Set(D(), static_cast<float>(term.gamma / 2))),
        weight(hn::Set(D(), static_cast<float>(term.weight))) {}
};

/// The logistic function and what is needed of the logarithm, with y = -|x|:
/// 2 log(1 + exp(y)) = series * share, 2 log(1 + exp(x)) = series * share + (x - y).
template <std::size_t N>
struct Parts {
  V y[N], p[N], q[N];  ///< q: 1 - p, exact to the last bits also where p is nearly 1
  V series[N], share[N];

  HWY_INLINE Parts(const Factors& f, const V (&x)[N]) {
    const D d;
    const V one = hn::Set(d, 1.0F);
    V e[N];
    V divisor[N];
    V inverse[N];
    for (std::size_t i = 0; i < N; ++i) e[i] = y[i] = hn::Or(x[i], hn::Set(d, -0.0F));
    exp_of_nonpositive(e);
    for (std::size_t i = 0; i < N; ++i) divisor[i] = hn::Add(e[i], hn::Set(d, kD1));
    for (std::size_t i = 0; i < N; ++i) {
      divisor[i] = hn::MulAdd(e[i], divisor[i], hn::Set(d, kD0));
    }
    for (std::size_t i = 0; i < N; ++i) inverse[i] = hn::Mul(hn::Add(e[i], one), divisor[i]);
    for (std::size_t i = 0; i < N; ++i) inverse[i] = hn::Div(f.scale, inverse[i]);
    for (std::size_t i = 0; i < N; ++i) series[i] = hn::MulAdd(e[i], f.n3, f.n2);
    for (std::size_t i = 0; i < N; ++i) series[i] = hn::MulAdd(e[i], series[i], f.n1);
    for (std::size_t i = 0; i < N; ++i) series[i] = hn::MulAdd(e[i], series[i], f.n0);
    for (std::size_t i = 0; i < N; ++i) share[i] = hn::Mul(e[i], inverse[i]);
    for (std::size_t i = 0; i < N; ++i) {
      const V larger = hn::Mul(inverse[i], divisor[i]);
      const V smaller = hn::Mul(share[i], divisor[i]);
      const auto negative = hn::Lt(x[i], hn::Zero(d));
      p[i] = hn::IfThenElse(negative, smaller, larger);
      q[i] = hn::IfThenElse(negative, larger, smaller);
    }
  }
};

/// The terms with gamma 2; the scale carries the weight. Adds the terms times 2 / scale to `sum`
/// and leaves the derivatives.
template <std::size_t N>
HWY_INLINE void square_terms(const Factors& f, const V (&x)[N], V (&sum)[N], V (&derivative)[N]) {
  const Parts<N> parts(f, x);
  for (std::size_t i = 0; i < N; ++i) {
    // x - y is 2 max(x, 0), but for an infinite x, either one, it is infinite or NaN.
    const V twice_log = hn::MulAdd(parts.series[i], parts.share[i], hn::Sub(x[i], parts.y[i]));
    const V square = hn::Mul(parts.p[i], parts.p[i]);
    sum[i] = hn::MulAdd(square, twice_log, sum[i]);
    derivative[i] = hn::Mul(square, hn::MulAdd(parts.q[i], twice_log, parts.p[i]));
  }
}

/// The terms with any gamma, for scale 1. Adds twice the terms, without weight, to `sum`.
template <std::size_t N>
HWY_INLINE void power_terms(const Factors& f, const V (&x)[N], V (&sum)[N], V (&derivative)[N]) {
  const Parts<N> parts(f, x);
  V power[N];
  V rest[N];
  V twice_log[N];
  for (std::size_t i = 0; i < N; ++i) {
    const V log = hn::Mul(parts.series[i], parts.share[i]);
    twice_log[i] = hn::Add(log, hn::Sub(x[i], parts.y[i]));
    // p^gamma = exp(gamma log(p)), 2 log(p) = 2 min(x, 0) - 2 log(1 + exp(y)). An exponent of -80
    // has an error of 4e-6 in its last digit, so what rounding takes away is kept in `rest`.
    const V twice_min = hn::Add(x[i], parts.y[i]);
    const V twice_log_p = hn::Sub(twice_min, log);
    const V lost = hn::Sub(hn::Sub(twice_min, twice_log_p), log);
    power[i] = hn::Mul(f.half_gamma, twice_log_p);
    rest[i] = hn::MulAdd(f.half_gamma, lost, hn::MulSub(f.half_gamma, twice_log_p, power[i]));
  }
  exp_of_nonpositive(power);
  for (std::size_t i = 0; i < N; ++i) {
    power[i] = hn::MulAdd(power[i], rest[i], power[i]);
    sum[i] = hn::MulAdd(power[i], twice_log[i], sum[i]);
    const V slope = hn::Mul(f.half_gamma, hn::Mul(parts.q[i], twice_log[i]));
    derivative[i] = hn::Mul(hn::Mul(f.weight, power[i]), hn::Add(parts.p[i], slope));
  }
}

template <bool kSquare, std::size_t N>
HWY_INLINE void add_terms(const Factors& f, const V (&x)[N], V (&sum)[N], V (&derivative)[N]) {
  if constexpr (kSquare) {
    square_terms(f, x, sum, derivative);
  } else {
    power_terms(f, x, sum, derivative);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::focal
HWY_AFTER_NAMESPACE();

#endif  // the target's turn
